/* option/option_table.c: the rows of options.def, the commands and the sections, and how they are looked up. */
#include <stddef.h>
#include <string.h>

#include "option/option_internal.h"

static const option_row rows[] = {
#define OPTION(id, name, aliases, type, section, unit, default_text, min, max, choices, help)                          \
    {#id, name, aliases, OPTION_##type, section, unit, default_text, min, max, choices, help},
#include "option/options.def"
#undef OPTION
};

const option_section option_sections[] = {
    {"general", "General", "Every command takes these."},
    {"data", "Data", "The graph."},
    {"model", "Model", "The network."},
    {"training", "Training", "Epochs, loss, optimiser, evaluation."},
    {"partition", "Partition", "How the graph is divided among the ranks."},
    {"partitioning", "Partitioning", "What weft partition makes."},
    {"partitioner", "Partitioner", "How the partitioner works."},
    {"aggregation", "Aggregation", "Order and form of the aggregation matrix."},
    {"communication", "Communication", "How ranks exchange gradients and keep their parameters together."},
    {"run", "Run", "Output, memory and communication of a run."},
    {"table", "Table", "How results are printed."},
    {"prediction", "Prediction", "Which model, and what is scored."},
    {"predictions", "Predictions", "What weft predict writes."},
    {"export", "Export", "What weft export writes."},
    {"convert", "Convert", "Input and output of weft convert."},
    {"info", "Info", "What weft info looks at."},
    {"report", "Report", "What weft report writes."},
    {"bench", "Bench", "What weft bench measures."},
    {NULL, NULL, NULL},
};

const option_command option_commands[] = {
    {"train", "train a model on every rank of the job", "", 0, 0,
     "general,data,model,training,partition,partitioner,aggregation,communication,run",
     "weft train --data synth:reddit,scale=0.01 --model sage --epochs 50\n"
     "mpirun -np 4 weft train --data reddit.weft --model gcn --hidden 64 --run-dir run\n"
     "mpirun -np 4 --map-by slot:PE=8 --bind-to core weft train --data reddit.weft\n"
     "srun -n 4 -c 8 --cpu-bind=cores weft train --data reddit.weft"},
    {"partition", "divide a graph store into parts and report their quality", "STORE", 1, 1,
     "general,partitioning,partitioner", "weft partition reddit.weft --parts 16 --method metis --json"},
    {"convert", "make a graph store from a data set's files", "INPUT", 1, 1, "general,convert",
     "weft convert cora.npz --out cora.weft\n"
     "weft convert minesweeper.npz --out minesweeper.weft --split-index 0"},
    {"bench", "measure a kernel (KIND spmm or gemm) or the communication core (KIND comm)", "KIND", 1, 1,
     "general,data,bench,table,aggregation,communication",
     "weft bench spmm --data synth:reddit,scale=0.1 --dims 16,64,256 --format json\n"
     "weft bench gemm --rows 16384 --dims 64,256 --thread-counts 1,2\n"
     "mpirun -np 4 weft bench comm --op allreduce --sizes 1K..32M --algorithms all\n"
     "mpirun -np 4 weft bench comm --op sync --sizes 100M --algorithms allreduce,topk --topk-density 0.001"},
    {"eval", "score a trained model on a graph store, by split and by class", "", 0, 0,
     "general,data,model,prediction,table,partition,partitioner,aggregation",
     "weft eval --data reddit.weft --checkpoint weft-run-0001\n"
     "mpirun -np 4 weft eval --data reddit.weft --checkpoint model.safetensors --split valid --format json"},
    {"predict", "the same, and write predictions and probabilities of every vertex", "", 0, 0,
     "general,data,model,prediction,predictions,table,partition,partitioner,aggregation",
     "mpirun -np 4 weft predict --data reddit.weft --checkpoint weft-run-0001 --out answers"},
    {"export", "write a trained model as safetensors with the names of PyTorch Geometric", "MODEL", 1, 1,
     "general,model,export", "weft export weft-run-0001 --out model.safetensors"},
    {"info", "describe a graph store, a run folder, a model, this build or this machine",
     "[STORE|RUN_DIR|FILE.safetensors|hardware|build]", 0, 1, "general,info",
     "weft info cora.weft\nweft info weft-run-0001\nweft info hardware\nweft info build"},
    {"doctor", "measure these nodes and say what keeps a job from being fast", "", 0, 0, "general,table",
     "weft doctor\nmpirun -np 4 weft doctor --format json"},
    {"report", "make one page of a run folder, or a comparison of several", "DIR...", 1, 32, "general,report",
     "weft report run\n"
     "weft report run-a run-b run-c --out comparison.html\n"
     "weft report run --format md --out -"},
    {NULL, NULL, NULL, 0, 0, NULL, NULL},
};

const option_command option_command_bare = {"", "", "", 0, 0, "general", ""};

const option_row *option_row_of(option_id id)
{
    return &rows[id];
}

bool option_list_next(const char **cursor, char separator, char item[OPTION_WORD_MAX])
{
    size_t length = 0;
    if (**cursor == '\0') {
        return false;
    }
    while ((*cursor)[length] != '\0' && (*cursor)[length] != separator) {
        length++;
    }
    size_t kept = length < OPTION_WORD_MAX ? length : OPTION_WORD_MAX - 1;
    memcpy(item, *cursor, kept);
    item[kept] = '\0';
    *cursor += length + ((*cursor)[length] == separator);
    return true;
}

bool option_list_has(const char *list, char separator, const char *word)
{
    char item[OPTION_WORD_MAX];
    while (option_list_next(&list, separator, item)) {
        if (strcmp(item, word) == 0) {
            return true;
        }
    }
    return false;
}

bool option_is_switch(const option_row *row)
{
    return row->type == OPTION_CHOICE && option_list_has(row->choices, '|', "on") &&
           option_list_has(row->choices, '|', "off");
}

bool option_applies(const option_command *command, option_id id)
{
    return option_list_has(command->sections, ',', rows[id].section);
}

bool option_allowed_from(option_id id, option_source source)
{
    bool acts = id == OPT_HELP || id == OPT_VERSION || id == OPT_PRINT_CONFIG;
    if (source == OPTION_ENVIRONMENT) {
        return !acts;
    }
    return source != OPTION_FILE || (!acts && id != OPT_CONFIG);
}

bool option_same_name(const char *a, const char *b)
{
    for (; *a != '\0' || *b != '\0'; a++, b++) {
        char x = *a == '_' ? '-' : *a, y = *b == '_' ? '-' : *b;
        if (x != y) {
            return false;
        }
    }
    return true;
}

static bool row_matches(const option_row *row, const char *name, bool letter)
{
    const char *aliases = row->aliases;
    char alias[OPTION_WORD_MAX];
    if (!letter && option_same_name(row->name, name)) {
        return true;
    }
    while (option_list_next(&aliases, ',', alias)) {
        if ((alias[1] == '\0') == letter && option_same_name(alias, name)) {
            return true;
        }
    }
    return false;
}

option_id option_find(const option_command *command, const char *name, bool letter)
{
    for (int id = 0; id < OPT_COUNT; id++) {
        if ((command == NULL || option_applies(command, (option_id)id)) && row_matches(&rows[id], name, letter)) {
            return (option_id)id;
        }
    }
    return OPT_COUNT;
}

const option_section *option_section_find(const char *name)
{
    for (const option_section *section = option_sections; section->name != NULL; section++) {
        if (strcmp(section->name, name) == 0) {
            return section;
        }
    }
    return NULL;
}

bool option_section_used(const option_command *command, const char *section)
{
    return option_list_has(command->sections, ',', section);
}

int option_collect_names(const option_command *command, char names[OPTION_NAMES_MAX][OPTION_WORD_MAX])
{
    int count = 0;
    for (int id = 0; id < OPT_COUNT; id++) {
        const char *aliases = rows[id].aliases;
        if (command != NULL && !option_applies(command, (option_id)id)) {
            continue;
        }
        if (count < OPTION_NAMES_MAX) {
            strncpy(names[count], rows[id].name, OPTION_WORD_MAX - 1);
            names[count++][OPTION_WORD_MAX - 1] = '\0';
        }
        while (count < OPTION_NAMES_MAX && option_list_next(&aliases, ',', names[count])) {
            count += names[count][1] != '\0'; /* one letter is near to everything */
        }
    }
    return count;
}

void option_environment_name(const char *name, char text[OPTION_ENV_MAX])
{
    size_t at = 5;
    memcpy(text, "WEFT_", 5);
    for (; *name != '\0' && at + 1 < OPTION_ENV_MAX; name++) {
        text[at++] = (char)(*name == '-' ? '_' : (*name >= 'a' && *name <= 'z') ? *name - 'a' + 'A' : *name);
    }
    text[at] = '\0';
}

const char *option_source_text(option_source source)
{
    static const char *const texts[] = {"default",     "recipe",       "data",   "config file",
                                        "environment", "command line", "program"};
    return texts[source];
}
