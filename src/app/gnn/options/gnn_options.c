/* app/gnn/options/gnn_options.c: the table of graph options; recipes and words of other programs are in files of their
 * own. */
#include "app/gnn/options/gnn_options.h"

#include "app/gnn/options/gnn_words.h"

#define OPTION_TABLE_FILE "app/gnn/options/gnn_table.def"
#include "option/table_rows_body.h"

static const option_section sections[] = {
    {"partition", "Partition", "How the graph is divided among the ranks.", NULL, "train,eval,predict",
     OPTION_DISTURBS},
    {"partitioning", "Partitioning", "What weft partition makes.", NULL, NULL, OPTION_CHANGES},
    {"partitioner", "Partitioner", "How the partitioner works.", NULL, "train,eval,predict", OPTION_DISTURBS},
    {"aggregation", "Aggregation", "Order and form of the aggregation matrix.", NULL, "train,bench,eval,predict",
     OPTION_DISTURBS},
    {"scaling", "Scaling", "The sockets and the network that are predicted.", NULL, NULL, OPTION_CHANGES},
    {NULL, NULL, NULL, NULL, NULL, OPTION_CHANGES},
};

static const option_command commands[] = {
    {NULL, "partition", "divide a graph store into parts and report their quality", "STORE", 1, 1,
     "general,partitioning,partitioner", "weft partition reddit.weft --parts 16 --method metis --json"},
    {NULL, "predict-scaling", "predict the seconds of an epoch on many sockets, from this graph and this machine", "",
     0, 0, "general,data,model,training,partition,partitioner,aggregation,communication,patience,scaling,table",
     "weft predict-scaling --data reddit.weft --model sage --hidden 256\n"
     "weft predict-scaling --data products.weft --hidden 256 --layers 3 --sockets 1,16,64 --socket-cores 28 \\\n"
     "    --socket-bandwidth 128G --network-bandwidth 12.5G --network-latency 2e-6 --format csv"},
    {NULL, NULL, NULL, NULL, 0, 0, NULL, NULL},
};

/* What graphs add to the options of all jobs. */
static const option_addition additions[] = {
    {OPT_DATA, "STORE", "", "graphs: a store (weft convert makes one), or generated, e.g. synth:reddit,scale=0.1"},
    {OPT_MODEL, "", "sage|gcn|mlp|gat|gatv2|gin|sgc|lightgcn",
     "graphs: sage (auto), gcn, gat and gatv2 (attention), gin (sums and networks of two layers), sgc (hops and one "
     "linear map), lightgcn (mean of hops), or mlp (no graph)"},
    {OPT_RECIPE, "",
     "fast|few-labels|wide-features|kipf|gat-paper|reddit|ogbn-arxiv|ogbn-products|ogbn-proteins|ogbn-papers100m",
     "graphs: auto = few-labels where the graph has fewer than 100 training vertices a class, else wide-features where "
     "it has fewer than features, else default; fast = the same in 60 epochs by second order, or in 100 from a "
     "linear model where rows or labels are few; kipf = the published GCN of Kipf and Welling; gat-paper = the "
     "published GAT of Velickovic and others; reddit, ogbn-* = the published full-batch settings of these data sets"},
    {OPTION_NONE, NULL, NULL, NULL},
};

static weft_status check(const weft_options *options)
{
    const bool converts = option_applies(option_command_of(options), OPT_RANDOM_SPLIT);
    const bool both = option_text(options, OPT_SPLIT)[0] != '\0' && option_text(options, OPT_RANDOM_SPLIT)[0] != '\0';
    return converts && both ? option_contradict(options, OPT_SPLIT, OPT_RANDOM_SPLIT, "a split is read or drawn")
                            : WEFT_OK;
}

const option_table gnn_option_table = {
    .number = GNN_TABLE,
    .traits = "graphs|stores|networks|gradients",
    .rows = rows,
    .count = sizeof rows / sizeof *rows,
    .needs = needs,
    .sections = sections,
    .commands = commands,
    .additions = additions,
    .recipes = gnn_recipes,
    .synonyms = gnn_synonyms,
    .foreigns = gnn_foreigns,
    .values = gnn_foreign_values,
    .check = check,
};
