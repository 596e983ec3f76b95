/* app/gnn/options/gnn_foreign_words.c: answers for those who come from other programs for graphs; see
 * app/options/option_foreign_words.c. */
#include "app/gnn/options/gnn_options.h"
#include "app/gnn/options/gnn_words.h"

const option_foreign gnn_foreigns[] = {
    {"fanout,fan-out,fanouts,num-neighbors,num-neighbours,neighbors,neighbours,neighbor-sizes,sizes-per-layer,"
     "sample-size,sample-sizes,num-sample,sampling,neighbor-sampling,num-samplers",
     "full batch: no neighbours are sampled, every epoch visits every vertex and edge"},
    {"cluster-gcn,num-clusters,saint-coverage,walk-length,batch-clusters,use-saint",
     "full batch: the graph is not trained by pieces; --partition divides it among ranks, and the result is that of "
     "one"},
    {"graph-name,part-config,pad-data,graph-format,balance-train,balance-edges,partition-dir",
     "a job divides the graph itself, by --partition METHOD; weft partition STORE --parts N tells of what quality the "
     "parts are"},
    {"partition", "weft partition calls it --method METHOD; --partition METHOD is for weft train and other jobs"},
    {"net-type,use-sage,use-gdc", "--model sage, gcn, gat, gatv2, gin, sgc or mlp; there is no diffusion (GDC)"},
    {"in-drop", "--input-dropout X drops features, --dropout X values between layers"},
    {"fastmode", "--eval-every N evaluates every N epochs; 0: after the last one alone"},
    {"recdim,latent-dim", "--embedding N is the width of the vertices' rows"},
    {"topks", "--hits-at K is how many items are recommended"},
    {"keepprob,keep-prob", "--dropout X and --input-dropout X are shares that are dropped; no edges are"},
    {"a-fold,a-split,testbatch,multicore,batch-size-eval",
     "the whole graph is multiplied at once, by --threads N, and no evaluation needs a batch"},
    {"neg-sampling-ratio", "--negatives K of each training link are drawn, --eval-negatives K of each judged one"},
    {"use-valedges-as-input", "messages pass along links of train alone; an evaluation adds none"},
    {"use-node-embedding", "weft convert --features FILE gives vertices features, such as rows learned elsewhere"},
    {"is-undirected", "a store is undirected where weft convert --symmetrize on made it so"},
    {"inductive", "a training sees all vertices; weft predict RUN OTHER answers for a graph that it did not see"},
    {"data-cpu", "--feature-place says where features lie that a device could hold"},
    {"n-bases,num-bases", "there are no relations: every edge is of one kind"},
    {"use-v2", "--model gatv2"},
    {"bias", "every layer has a bias, but before a norm"},
    {"use-sparse-tensor",
     "--spmm chooses the form in which sums over neighbours are made, --feature-form that of features"},
    {"activation,act,act-fn,nonlinearity", "hidden layers end with ReLU, those of gat and gatv2 with ELU"},
    {"attention", "--model gat and gatv2 are those with attention"},
    {"graph,graph-path,data-dir,data-path,data-root,datadir,dataset-name,dataset-dir,dataset-path,root,input,input-dir,"
     "input-path,store",
     "--data STORE is the graph; weft convert makes a store of its files"},
    {"train-ratio,val-ratio,valid-ratio,test-ratio,train-frac,val-frac,test-frac,train-size,test-size,split-ratio,"
     "train-split,val-split,num-folds,folds",
     "the store carries the split: weft convert INPUT --random-split 60/20/20, or --splits FILE"},
    {"self-loop,add-self-loop,add-self-loops",
     "gcn adds each vertex to its neighbours by itself, sage has weights for it"},
    {"dropedge,drop-edge,edge-drop,edge-dropout", "--dropout and --input-dropout drop features"},
    {"num-classes,n-classes,out-channels,in-channels,in-feats,input-dim,output-dim,num-features,in-dim,out-dim",
     "widths of the first and last layer come from the graph; --hidden N is the one between"},
    {"undirected,to-undirected,bidirected,directed,reverse-edges,add-reverse",
     "weft convert --symmetrize on|off decides it"},
    {"use-labels,label-reuse,n-label-iters,use-label,correct-and-smooth,c-s,cs",
     "weft eval --smooth improves answers along the edges"},
    {NULL, NULL},
};

const option_foreign_value gnn_foreign_values[] = {
    {OPT_MODEL,
     "transformer,graph-transformer,gcnii,gcn2,appnp,rgcn,r-gcn,hgt,pna,graphgps,gps,chebnet,cheb,jknet,gae,vgae,"
     "node2vec,deepwalk,dgi,sign,sagn,linkx,mixhop,dagnn,egnn,schnet,han,tgn,arma,agnn,graphconv",
     "there is no such network for graphs: sage, gcn, gat, gatv2, gin, sgc and mlp; --jumping cat gives jumping "
     "knowledge, docs/howto-model.md tells how a layer is added"},
    {OPT_NORM, "group,groupnorm,instance,instancenorm,graphnorm,pairnorm,rms,rmsnorm,weight,spectral",
     "there is no such norm: none, batch and layer"},
    {OPT_AGGREGATOR, "sum,add,lstm,pool,min,std,var,median,softmax,attention",
     "there is no such aggregator: mean, gcn and max; --model gin sums, --model gat has attention"},
    {OPT_FEATURES,
     "pagerank,page-rank,betweenness,closeness,centrality,clustering,node2vec,deepwalk,line,svd,laplacian,eigenvectors,"
     "lappe,rwpe,ones,constant,none,identity,embedding,embeddings",
     "there is no such kind: degree, onehot, random:D and spectral:D are made of the graph (weft convert "
     "--help=formats); a file of that name is ./NAME"},
    {OPTION_NONE, NULL, NULL},
};

const option_synonym gnn_synonyms[] = {
    {OPT_MODEL, "graphsage,sageconv,graph-sage", "sage"},
    {OPT_MODEL, "gcnconv,gcn-conv", "gcn"},
    {OPT_MODEL, "gatconv", "gat"},
    {OPT_MODEL, "gatv2conv", "gatv2"},
    {OPT_MODEL, "ginconv", "gin"},
    {OPT_MODEL, "sgconv,sgcn", "sgc"},
    {OPT_NORM, "bn,batchnorm,batch-norm,batchnorm1d", "batch"},
    {OPT_NORM, "ln,layernorm,layer-norm", "layer"},
    {OPTION_NONE, NULL, NULL},
};
