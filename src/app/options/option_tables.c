/* app/options/option_tables.c: table 0: the rows, sections and commands that are of no kind of workload. */
#include "app/options/app_options.h"
#include "app/options/foreign_words.h"

#define OPTION_TABLE_BEFORE "option/general_options.def"
#define OPTION_TABLE_FILE   "app/options/app_options.def"
#include "option/table_rows_body.h"

static const option_section sections[] = {
    {"general", "General", "Every command takes these.", NULL, NULL, OPTION_REOPENS},
    {"data", "Data", "What the job works on.", NULL, NULL, OPTION_REOPENS},
    {"model", "Model", "What is trained.", NULL, NULL, OPTION_STAYS},
    {"rows", "Rows", "Which rows of a table validate and test.", NULL, "train,eval,predict", OPTION_STAYS},
    {"batches", "Batches", "How many samples a step takes, and who prepares them.", NULL, NULL, OPTION_STAYS},
    {"training", "Training", "Epochs, loss, optimiser, evaluation.", "recipes", NULL, OPTION_STAYS},
    {"communication", "Communication", "How ranks exchange gradients and keep their parameters together.", NULL, NULL,
     OPTION_DISTURBS},
    {"patience", "Patience", "How long ranks wait for each other.", NULL, NULL, OPTION_REOPENS},
    {"run", "Run", "Output, memory and communication of a run.", NULL, NULL, OPTION_CHANGES},
    {"table", "Table", "How results are printed.", NULL, NULL, OPTION_CHANGES},
    {"indexes", "Indexes", "What is told of the answers of two classes.", NULL, "train,eval,predict", OPTION_CHANGES},
    {"prediction", "Prediction", "Which model.", NULL, NULL, OPTION_CHANGES},
    {"scores", "Scores", "What is scored.", NULL, NULL, OPTION_CHANGES},
    {"predictions", "Predictions", "What weft predict writes.", NULL, NULL, OPTION_CHANGES},
    {"explanations", "Explanations", "What weft explain compares and writes.", NULL, NULL, OPTION_CHANGES},
    {"export", "Export", "What weft export writes.", NULL, NULL, OPTION_CHANGES},
    {"convert", "Convert", "Input and output of weft convert.", "formats", NULL, OPTION_CHANGES},
    {"columns", "Columns", "What the columns of a table are for; weft convert then takes its input for one.", NULL,
     "train,eval,predict,explain", OPTION_REOPENS},
    {"info", "Info", "What weft info looks at.", NULL, NULL, OPTION_CHANGES},
    {"report", "Report", "What weft report writes.", NULL, NULL, OPTION_CHANGES},
    {"search", "Search", "How configurations are chosen, and of what.", NULL, NULL, OPTION_CHANGES},
    {"focus", "Focus", "Two networks, the index between them, and what a query promises.", NULL, NULL, OPTION_CHANGES},
    {"bench", "Bench", "What weft bench measures.", NULL, NULL, OPTION_CHANGES},
    {NULL, NULL, NULL, NULL, NULL, OPTION_CHANGES},
};

static const option_command commands[] = {
    {NULL, "train", "train a model on every rank of the job", "[--resume RUN]", 0, 1,
     "general,data,model,batches,*,training,communication,patience,run",
     "weft train --data synth:reddit,scale=0.01 --model sage --epochs 50\n"
     "mpirun -np 4 weft train --data reddit.weft --model gcn --hidden 64 --run-dir run\n"
     "weft train --data photos/ --model resnet-20 --batch-size 64 --augment flip\n"
     "mpirun -np 4 --map-by slot:PE=8 --bind-to core weft train --data reddit.weft\n"
     "srun --mpi=pmix -n 4 -c 8 --cpu-bind=cores weft train --data reddit.weft\n"
     "weft train --resume weft-run-0001 --epochs 400"},
    {NULL, "convert", "make a store from a data set's files", "INPUT", 1, 1, "general,convert,columns",
     "weft convert cora.npz --out cora.weft\n"
     "weft convert minesweeper.npz --out minesweeper.weft --split-index 0\n"
     "weft convert flights.csv.xz --target arr_delay --drop dep_delay --out flights.weft"},
    {NULL, "bench", "measure a kernel (KIND spmm, gemm), a network (dense) or the communication core (comm)", "KIND", 1,
     1, "general,data,model,batches,*,bench,table,communication,patience",
     "weft bench spmm --data synth:reddit,scale=0.1 --dims 16,64,256 --format json\n"
     "weft bench gemm --rows 16384 --dims 64,256 --thread-counts 1,2\n"
     "weft bench dense --model resnet-50 --batch-size 32 --precision bf16\n"
     "mpirun -np 4 weft bench comm --op allreduce --sizes 1K..32M --algorithms all\n"
     "mpirun -np 4 weft bench comm --op sync --sizes 100M --algorithms allreduce,topk --topk-density 0.001"},
    {NULL, "eval", "score a trained model on data, by split and by class", "", 0, 0,
     "general,data,model,batches,*,prediction,scores,table,patience",
     "weft eval --data reddit.weft --checkpoint weft-run-0001\n"
     "mpirun -np 4 weft eval --data reddit.weft --checkpoint model.safetensors --split valid --format json"},
    {NULL, "predict", "the same, and write predictions and probabilities of every row", "[RUN] [DATA...]", 0, 4096,
     "general,data,model,batches,*,prediction,scores,predictions,table,patience",
     "mpirun -np 4 weft predict --data reddit.weft --checkpoint weft-run-0001 --out answers\n"
     "weft predict weft-run-0001 reddit.weft\n"
     "weft predict --checkpoint weft-run-0002 --top 3 cat.jpg photos/"},
    {NULL, "explain", "say what each input adds to the answers of a model, where its kind can tell", "", 0, 0,
     "general,data,model,*,prediction,explanations,table,patience",
     "weft explain --data new.csv --checkpoint weft-run-0001\n"
     "weft explain --data new.csv --checkpoint weft-run-0001 --interactions --out why\n"
     "weft explain --data new.csv --checkpoint weft-run-0001 --interventional --background train.csv"},
    {NULL, "export", "write a trained model: safetensors with names of PyTorch Geometric, or JSON", "MODEL", 1, 1,
     "general,model,export", "weft export weft-run-0001 --out model.safetensors"},
    {NULL, "info", "describe a store, a run folder, a model, a network, this build or this machine",
     "[STORE|RUN_DIR|FILE.safetensors|FILE.npz|NETWORK|hardware|build]", 0, 1, "general,info",
     "weft info cora.weft\nweft info weft-run-0001\nweft info hardware\nweft info build"},
    {NULL, "doctor", "measure these nodes and say what keeps a job from being fast", "", 0, 0, "general,table",
     "weft doctor\nmpirun -np 4 weft doctor --format json"},
    {NULL, "report", "make one page of a run folder, or a comparison of several", "DIR...", 1, 32, "general,report",
     "weft report run\n"
     "weft report run-a run-b run-c --out comparison.html\n"
     "weft report run --format md --out -"},
    {NULL, "tune", "search the best configuration of a training, or of recorded trainings", "[SPACE.toml]", 0, 1,
     "general,search,data,model,batches,*train,training,communication,patience,run,table",
     "weft tune space.toml --data reddit.weft --model sage --epochs 100 --run-dir search\n"
     "mpirun -np 4 weft tune space.toml --data reddit.weft --scheduler fifo --searcher tpe --trials 50\n"
     "weft tune space.toml --data reddit.weft --epochs 100 --run-dir search --resume\n"
     "weft tune --table hpo/hpobench-kc1.npz --searcher tpe --trials 50"},
    {NULL, "focus", "index data by a cheap network and let an expensive one answer queries from the index",
     "plan|ingest|query [DATA...]", 1, 4096, "general,data,batches,*,focus,patience",
     "weft focus plan --data frames/ --cheap small-run,smaller-run --expensive large-run > plans.csv\n"
     "mpirun -np 4 weft focus ingest --data frames/ --cheap small-run --index frames.idx\n"
     "weft focus query --index frames.idx --data frames/ --expensive large-run --class car > cars.csv\n"
     "weft focus query --index frames.idx --data frames/ --expensive large-run --class car --count"},
    {NULL, NULL, NULL, NULL, 0, 0, NULL, NULL},
};

const option_table app_option_table = {
    .number = 0,
    .rows = rows,
    .count = sizeof rows / sizeof *rows,
    .needs = needs,
    .sections = sections,
    .commands = commands,
    .synonyms = app_synonyms,
    .foreigns = app_foreigns,
    .values = app_foreign_values,
    .other_commands = app_foreign_commands,
};
