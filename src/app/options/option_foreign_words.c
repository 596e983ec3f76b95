/*
 * app/options/option_foreign_words.c: answers for those who come from other programs.
 *
 * DGL, PyG and scikit-learn have options for what a full-batch training on CPUs has no use for, or spells otherwise.
 * The nearest name would mislead (--batch-size is no --bucket-size), so these words have an answer of their own, which
 * comes before the search for a near name. Where they have another word for the same choice, that word is taken.
 */
#include "app/options/app_options.h"

const option_foreign option_foreigns[] = {
    {"minibatch,mini-batch,batch-num,num-batches",
     "--batch-size B is the number of images of a step; graphs are trained in full batch"},
    {"fanout,fan-out,fanouts,num-neighbors,num-neighbours,neighbors,neighbours,neighbor-sizes,sizes-per-layer,"
     "sample-size,sample-sizes,num-samples,num-sample,sampler,sampling,sampling-method,neighbor-sampling,negative-"
     "samples",
     "full batch: no neighbours are sampled, every epoch visits every vertex and edge"},
    {"cluster-gcn,num-clusters,saint-coverage,walk-length,batch-clusters",
     "full batch: the graph is not trained by pieces; --partition divides it among ranks, and the result is that of "
     "one"},
    {"num-workers,workers,n-jobs,num-threads,nthreads,n-threads,nthread,num-cpus,cpus,cores,num-cores",
     "--threads N sets the threads of each rank, mpirun -np the ranks"},
    {"gpu,gpus,gpu-id,num-gpus,n-gpus,cuda,no-cuda,use-cuda,use-gpu,device,devices,accelerator",
     "weft computes on CPUs (--threads N sets the threads of each rank, mpirun -np the ranks); built with WEFT_CUDA, "
     "on "
     "GPUs by --backend cuda"},
    {"np,n,ranks,num-ranks,n-ranks,nprocs,num-procs,nproc-per-node,nnodes,world-size,hostfile,hosts,"
     "master-addr,master-port,dist-url,dist-backend,local-rank,map-by,bind-to,oversubscribe",
     "ranks are the launcher's, and its options stand before the program: mpirun -np 4 weft ..."},
    {"early-stopping,early-stopping-patience,early-stopping-rounds,es-patience,stopping-patience",
     "--patience N stops a run after N evaluations without a better validation score"},
    {"iterations,num-iterations,iters,num-iters,max-iter,max-iters,steps,max-steps,max-epochs,max-epoch,n-iter",
     "--epochs N: in full batch an epoch is one step"},
    {"lr-decay,lr-decay-rate,decay-rate,lr-gamma,gamma,lr-step-size,step-size,lr-scheduler,scheduler,lr-policy,"
     "scheduler-type,decay-epochs,decay-step",
     "--schedule step|cosine|linear|exp lowers the learning rate (with --schedule-step, --schedule-gamma, --warmup)"},
    {"l2,l2-norm,l2-reg,reg,regularization,weight-decay-rate,adam-decay", "--weight-decay X is added to the gradient"},
    {"beta1,beta2,betas,eps,epsilon,adam-eps,adam-beta1,adam-beta2,amsgrad",
     "Adam has beta1 0.9, beta2 0.999, epsilon 1e-8; --optimizer and --lr choose the rest"},
    {"clip,clip-grad,grad-clip,clip-norm,max-grad-norm,gradient-clip-val",
     "gradients are not clipped; --warmup N and a lower --lr keep the first epochs small"},
    {"batch-norm,batchnorm,use-bn,use-batchnorm,bn,layer-norm,layernorm,use-ln,use-layernorm",
     "--norm batch|layer normalises after each hidden layer"},
    {"activation,act,act-fn,nonlinearity", "hidden layers end with ReLU, those of gat and gatv2 with ELU"},
    {"attention", "--model gat and gatv2 are those with attention"},
    {"amp,mixed-precision,half,use-fp16,fp16,bf16,float16,bfloat16,dtype",
     "--precision bf16 halves what stands between layers, of networks on images f16 too, --wire bf16|fp16 the "
     "gradients that "
     "cross the network; weights and sums are float32"},
    {"deterministic,cudnn-deterministic,deterministic-mode", "--reproducible sums gradients in rank order"},
    {"output,output-dir,outdir,out-dir,log-dir,logdir,save-dir,save-path,result-dir,results-dir,run-name,save-model,"
     "model-dir,work-dir,exp-name",
     "--run-dir DIR is the folder for metrics, predictions, weights and checkpoints"},
    {"checkpoint-dir,ckpt-dir,checkpoint-path,ckpt-path,save-every,save-interval,checkpoint-interval,ckpt-every",
     "checkpoints go to DIR/ckpt of --run-dir DIR, as often as --checkpoint-every says"},
    {"load,load-checkpoint,load-ckpt,load-model,resume-from,resume-from-checkpoint,restore,restart,continue,pretrained,"
     "finetune-from",
     "--resume goes on with the run in --run-dir; --init-weights MODEL starts from the weights of another"},
    {"graph,graph-path,data-dir,data-path,data-root,datadir,dataset-name,dataset-dir,dataset-path,root,input,input-dir,"
     "input-path,store",
     "--data STORE is the graph; weft convert makes a store of its files"},
    {"val-every,valid-every,validate-every,val-interval,eval-interval,eval-freq,test-every,evaluate-every,"
     "validation-freq",
     "--eval-every N evaluates every N epochs"},
    {"train-ratio,val-ratio,valid-ratio,test-ratio,train-frac,val-frac,test-frac,train-size,test-size,split-ratio,"
     "train-split,val-split,num-folds,folds",
     "the store carries the split: weft convert INPUT --random-split 60/20/20, or --splits FILE"},
    {"self-loop,add-self-loop,add-self-loops",
     "gcn adds each vertex to its neighbours by itself, sage has weights for it"},
    {"dropedge,drop-edge,edge-drop,edge-dropout", "--dropout and --input-dropout drop features"},
    {"num-classes,n-classes,out-channels,in-channels,in-feats,input-dim,output-dim,num-features,in-dim,out-dim",
     "widths of the first and last layer come from the graph; --hidden N is the one between"},
    {NULL, NULL},
};

const option_synonym option_synonyms[] = {
    {OPT_PRECISION, "fp32,float32,float,32", "f32"},
    {OPT_PRECISION, "bfloat16,bf16-mixed", "bf16"},
    {OPT_PRECISION, "fp16,float16,half,16,16-mixed,fp16-mixed", "f16"},
    {OPT_WIRE, "bfloat16", "bf16"},
    {OPT_WIRE, "f16,float16,half", "fp16"},
    {OPT_MODEL, "graphsage", "sage"},
    {OPT_LOSS, "cross-entropy,cross_entropy,ce", "xent"},
    {OPT_METRIC, "accuracy", "acc"},
    {OPT_METRIC, "roc-auc,roc_auc,auc", "rocauc"},
    {OPT_SCHEDULE, "exponential", "exp"},
    {OPT_SCHEDULE, "polynomial", "poly"},
    {OPTION_NONE, NULL, NULL},
};
