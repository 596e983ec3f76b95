/* app/options/option_tables.c: rows, sections and commands, and the catalogue of them that the option room works from. */
#include "app/options/app_options.h"

const option_row option_rows[] = {
#define CHOICES(type, LIST) CHOICE_WORDS(LIST)
#define WORDS(text)         text
#define OPTION(id, name, aliases, type, section, unit, default_text, min, max, choices, help)                          \
    {#id, &name[2], aliases, OPTION_##type, section, unit, default_text, min, max, choices, help},
#include "option/general_options.def"
/* those of the rooms follow */
#include "app/options/app_options.def"
#undef OPTION
#undef WORDS
#undef CHOICES
};

const option_section option_sections[] = {
    {"general", "General", "Every command takes these.", NULL},
    {"data", "Data", "The graph, or the images.", NULL},
    {"model", "Model", "The network.", NULL},
    {"images", "Images", "Batches of images.", NULL},
    {"training", "Training", "Epochs, loss, optimiser, evaluation.", "recipes"},
    {"partition", "Partition", "How the graph is divided among the ranks.", NULL},
    {"partitioning", "Partitioning", "What weft partition makes.", NULL},
    {"partitioner", "Partitioner", "How the partitioner works.", NULL},
    {"aggregation", "Aggregation", "Order and form of the aggregation matrix.", NULL},
    {"communication", "Communication", "How ranks exchange gradients and keep their parameters together.", NULL},
    {"patience", "Patience", "How long ranks wait for each other.", NULL},
    {"run", "Run", "Output, memory and communication of a run.", NULL},
    {"table", "Table", "How results are printed.", NULL},
    {"prediction", "Prediction", "Which model, and what is scored.", NULL},
    {"predictions", "Predictions", "What weft predict writes.", NULL},
    {"export", "Export", "What weft export writes.", NULL},
    {"convert", "Convert", "Input and output of weft convert.", "formats"},
    {"columns", "Columns", "What the columns of a table are for; one of these makes the input a table.", NULL},
    {"info", "Info", "What weft info looks at.", NULL},
    {"report", "Report", "What weft report writes.", NULL},
    {"bench", "Bench", "What weft bench measures.", NULL},
    {"scaling", "Scaling", "The sockets and the network that are predicted.", NULL},
    {NULL, NULL, NULL, NULL},
};

const option_command option_commands[] = {
    {&app_catalog, "train", "train a model on every rank of the job", "", 0, 0,
     "general,data,model,images,training,partition,partitioner,aggregation,communication,patience,run",
     "weft train --data synth:reddit,scale=0.01 --model sage --epochs 50\n"
     "mpirun -np 4 weft train --data reddit.weft --model gcn --hidden 64 --run-dir run\n"
     "mpirun -np 4 --map-by slot:PE=8 --bind-to core weft train --data reddit.weft\n"
     "srun --mpi=pmix -n 4 -c 8 --cpu-bind=cores weft train --data reddit.weft"},
    {&app_catalog, "partition", "divide a graph store into parts and report their quality", "STORE", 1, 1,
     "general,partitioning,partitioner", "weft partition reddit.weft --parts 16 --method metis --json"},
    {&app_catalog, "convert", "make a graph store, or a table store, from a data set's files", "INPUT", 1, 1,
     "general,convert,columns",
     "weft convert cora.npz --out cora.weft\n"
     "weft convert minesweeper.npz --out minesweeper.weft --split-index 0\n"
     "weft convert flights.csv.xz --target arr_delay --drop dep_delay --out flights.weft"},
    {&app_catalog, "bench", "measure a kernel (KIND spmm, gemm), a network (dense) or the communication core (comm)",
     "KIND", 1, 1, "general,data,model,images,bench,table,aggregation,communication,patience",
     "weft bench spmm --data synth:reddit,scale=0.1 --dims 16,64,256 --format json\n"
     "weft bench gemm --rows 16384 --dims 64,256 --thread-counts 1,2\n"
     "weft bench dense --model resnet-50 --batch-size 32 --precision bf16\n"
     "mpirun -np 4 weft bench comm --op allreduce --sizes 1K..32M --algorithms all\n"
     "mpirun -np 4 weft bench comm --op sync --sizes 100M --algorithms allreduce,topk --topk-density 0.001"},
    {&app_catalog, "eval", "score a trained model on a graph store or images, by split and by class", "", 0, 0,
     "general,data,model,images,prediction,table,partition,partitioner,aggregation,patience",
     "weft eval --data reddit.weft --checkpoint weft-run-0001\n"
     "mpirun -np 4 weft eval --data reddit.weft --checkpoint model.safetensors --split valid --format json"},
    {&app_catalog, "predict", "the same, and write predictions and probabilities of every vertex or image",
     "[STORE|IMAGES...]", 0, 4096,
     "general,data,model,images,prediction,predictions,table,partition,partitioner,aggregation,patience",
     "mpirun -np 4 weft predict --data reddit.weft --checkpoint weft-run-0001 --out answers\n"
     "weft predict --checkpoint weft-run-0002 --top 3 cat.jpg photos/"},
    {&app_catalog, "export", "write a trained model as safetensors with the names of PyTorch Geometric", "MODEL", 1, 1,
     "general,model,export", "weft export weft-run-0001 --out model.safetensors"},
    {&app_catalog, "info", "describe a graph store, a run folder, a model, a network, this build or this machine",
     "[STORE|RUN_DIR|FILE.safetensors|FILE.npz|NETWORK|hardware|build]", 0, 1, "general,info",
     "weft info cora.weft\nweft info weft-run-0001\nweft info hardware\nweft info build"},
    {&app_catalog, "doctor", "measure these nodes and say what keeps a job from being fast", "", 0, 0, "general,table",
     "weft doctor\nmpirun -np 4 weft doctor --format json"},
    {&app_catalog, "predict-scaling",
     "predict the seconds of an epoch on many sockets, from this graph and this machine", "", 0, 0,
     "general,data,model,training,partition,partitioner,aggregation,communication,patience,scaling,table",
     "weft predict-scaling --data reddit.weft --model sage --hidden 256\n"
     "weft predict-scaling --data products.weft --hidden 256 --layers 3 --sockets 1,16,64 --socket-cores 28 \\\n"
     "    --socket-bandwidth 128G --network-bandwidth 12.5G --network-latency 2e-6 --format csv"},
    {&app_catalog, "report", "make one page of a run folder, or a comparison of several", "DIR...", 1, 32,
     "general,report",
     "weft report run\n"
     "weft report run-a run-b run-c --out comparison.html\n"
     "weft report run --format md --out -"},
    {NULL, NULL, NULL, NULL, 0, 0, NULL, NULL},
};

const option_command option_command_bare = {&app_catalog, "", "", "", 0, 0, "general", ""};

const option_catalog app_catalog = {
    .rows = option_rows,
    .count = OPT_COUNT,
    .sections = option_sections,
    .commands = option_commands,
    .bare = &option_command_bare,
    .foreigns = option_foreigns,
    .synonyms = option_synonyms,
    .values = option_foreign_values,
    .other_commands = option_foreign_commands,
    .recipe = OPT_RECIPE,
    .recipes = option_recipes,
    .is_argument = option_is_argument,
    .of_argument = option_of_argument,
};
