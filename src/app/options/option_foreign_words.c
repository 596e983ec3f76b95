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
    {"num-workers,workers,num-loader-workers,data-workers,prefetch-factor,pin-memory,persistent-workers",
     "--loader-threads N of each rank prepare images beside the training; --threads N are those that compute, mpirun "
     "-np "
     "the ranks"},
    {"n-jobs,num-threads,nthreads,n-threads,nthread,num-cpus,cpus,cores,num-cores",
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
    {"class-weights,class-weight,weighted-loss,pos-weight,loss-weights,focal-loss,balanced,balance-classes",
     "there are no class weights: every labelled vertex and image counts the same in the loss; --label-smoothing X and "
     "--metric rocauc are what there is for uneven classes"},
    {"augmentation,augmentations,data-augmentation,transform,transforms,auto-augment,autoaugment,randaugment,mixup,"
     "cutmix,"
     "random-crop,random-flip,hflip,crop,flip",
     "--augment none|shift|flip|cutout|crop varies training images"},
    {"freeze,freeze-backbone,freeze-layers,unfreeze,trainable,finetune,fine-tune,transfer,feature-extract,linear-probe",
     "there is no freezing: every weight is trained; --init-weights MODEL starts from the weights of another, and a "
     "low --lr "
     "keeps close to them"},
    {"task,task-type,problem-type,objective,problem,prediction-type",
     "there is no such choice: classes of vertices or of images are learnt, and binary tasks of vertices (ROC-AUC); no "
     "links, "
     "no whole graphs, no regression"},
    {"link-prediction,graph-classification,regression,edge-prediction,node-classification",
     "classes of vertices or of images are learnt, and binary tasks of vertices; there are no links, no whole graphs "
     "and no "
     "regression"},
    {"wandb,use-wandb,wandb-project,wandb-entity,wandb-name,mlflow,neptune,comet,clearml,logger,report-to,track,"
     "tracking-uri",
     "there is no W&B and no MLflow in the program: --tensorboard writes its files, and docs/howto-report.md has a "
     "reader of "
     "metrics.jsonl for W&B"},
    {"tune,tuner,sweep,hyperopt,hpo,grid-search,num-trials,n-trials,optuna,ray-tune",
     "there is no tuner: start runs with other options and weft report RUN RUN ... compares them"},
    {"lr-find,lr-finder,find-lr,auto-lr,auto-lr-find,auto-scale-batch-size,auto-batch",
     "there is no finder of rates or batch sizes: --recipe has published settings, and --dry-run tells what fits"},
    {"seed-everything,random-seed,manual-seed,random-state,global-seed", "--seed S draws weights, dropout and batches"},
    {"log-level,loglevel,verbosity,debug,silent", "--verbose logs more, --quiet only warnings"},
    {"print-freq,print-every,log-interval,logging-steps,log-every-n-steps,disp-iter,report-freq",
     "--eval-every N evaluates, logs and writes metrics every N epochs"},
    {"imgsz,img-size,imsize,image-resolution,resolution,input-size,crop-size,crop-pct",
     "--image-size HEIGHTxWIDTH is what images are scaled to"},
    {"evaluate,eval,eval-only,test,test-only,val-only,validate,do-eval",
     "weft eval --data STORE --checkpoint RUN scores a model"},
    {"predict,infer,inference,do-predict", "weft predict --data STORE --checkpoint RUN answers with a model"},
    {"train,do-train,do-test", "weft train trains; eval and predict are commands of their own"},
    {"export,onnx,save-onnx,torchscript",
     "weft export RUN --out FILE.safetensors writes a model for others; there is no ONNX"},
    {"compile,jit,torch-compile,channels-last,cudnn-benchmark,benchmark",
     "nothing is compiled at run time: kernels of this processor are chosen when the program starts (weft info build)"},
    {"ddp,strategy,fsdp,zero,deepspeed,horovod,distributed,find-unused-parameters,gradient-as-bucket-view,parallel,"
     "data-parallel,dist",
     "mpirun -np 4 weft train ... is all: gradients are summed by --sync allreduce; --sync lists other modes"},
    {"ema,model-ema,swa,ema-decay,polyak",
     "there is no moving average of weights; --sync shadow keeps replicas by one"},
    {"drop-last,shuffle,no-shuffle,random-sampler,bucket-sampler",
     "images are shuffled anew every epoch by --seed, and the last batch may be short: every image counts once"},
    {"undirected,to-undirected,bidirected,directed,reverse-edges,add-reverse",
     "weft convert --symmetrize on|off decides it"},
    {"eval-batch-size,test-batch-size,val-batch-size,batch-size-test",
     "--batch-size B serves evaluation too, and changes no score"},
    {"use-labels,label-reuse,n-label-iters,use-label,correct-and-smooth,c-s,cs",
     "weft eval --smooth improves answers along the edges"},
    {"num-iterations-per-epoch,steps-per-epoch,iters-per-epoch,limit-train-batches,overfit-batches,fast-dev-run",
     "an epoch visits everything; --epochs 1 or --dry-run try a job"},
    {NULL, NULL},
};

const option_foreign_value option_foreign_values[] = {
    {OPT_LR, "auto,find,finder",
     "there is no finder of rates: a number; --recipe has published ones, --schedule lowers it"},
    {OPT_EPOCHS, "auto,inf", "a number; --patience N ends a run after N evaluations without a better one"},
    {OPT_LOSS, "mse,l1,l2,mae,huber,smooth-l1,rmse,regression,poisson",
     "there is no regression: xent (classes) and bce (binary tasks) are the losses"},
    {OPT_LOSS, "focal,weighted,dice,hinge,triplet,contrastive,margin,kl,kld,kldiv",
     "there is no such loss: xent (classes) and bce (binary tasks); --label-smoothing X softens xent"},
    {OPT_METRIC,
     "f1,f1-score,f1-micro,f1-macro,micro-f1,macro-f1,precision,recall,map,mrr,hits,hits@10,ap,top5,top-5,rmse,mae",
     "there is no such score: acc (of one class a vertex or image it is micro-F1) and rocauc (of binary tasks); "
     "predictions.npy of the run has what others are made of"},
    {OPT_OPTIMIZER, "adamw,adamax,nadam,radam,rmsprop,adagrad,adadelta,lamb,lbfgs,muon,sophia,lion",
     "there is no such optimiser: adam, sgd (--momentum, --nesterov) and lars; --weight-decay is added to the "
     "gradient"},
    {OPT_MODEL,
     "transformer,graph-transformer,gcnii,gcn2,appnp,rgcn,r-gcn,hgt,pna,graphgps,gps,chebnet,cheb,jknet,gae,vgae,"
     "node2vec,"
     "deepwalk,dgi,sign,sagn,linkx,mixhop,dagnn,egnn,schnet,han,tgn,arma,agnn,graphconv",
     "there is no such network for graphs: sage, gcn, gat, gatv2, gin, sgc and mlp; --jumping cat gives jumping "
     "knowledge, "
     "docs/howto-model.md tells how a layer is added"},
    {OPT_MODEL,
     "vgg,vgg11,vgg13,vgg16,vgg19,densenet,densenet121,mobilenet,mobilenet-v2,mobilenet-v3,efficientnet,efficientnet-"
     "b0,"
     "inception,inception-v3,googlenet,squeezenet,shufflenet,resnext,resnext50,convnext,vit,swin,unet,u-net,yolo,"
     "yolov5,"
     "yolov8,resnet-34,resnet-101,resnet-152,resnet-110,cnn,simplecnn",
     "there is no network of that name: weft train --help=model lists those that there are, and a file of layers is "
     "another "
     "(docs/networks.md)"},
    {OPT_NORM, "group,groupnorm,instance,instancenorm,graphnorm,pairnorm,rms,rmsnorm,weight,spectral",
     "there is no such norm: none, batch and layer"},
    {OPT_SCHEDULE,
     "plateau,reduce-on-plateau,reduce-lr-on-plateau,onecycle,one-cycle,cyclic,cosine-restarts,warm-restarts,noam",
     "there is no such schedule: constant, step, cosine, linear, exp and poly, behind --warmup N epochs"},
    {OPT_AGGREGATOR, "sum,add,lstm,pool,min,std,var,median,softmax,attention",
     "there is no such aggregator: mean, gcn and max; --model gin sums, --model gat has attention"},
    {OPT_BACKEND, "gpu,nvidia", "GPUs are --backend cuda, in a build with WEFT_CUDA (weft info build)"},
    {OPT_FEATURES,
     "pagerank,page-rank,betweenness,closeness,centrality,clustering,node2vec,deepwalk,line,svd,laplacian,eigenvectors,"
     "lappe,"
     "rwpe,ones,constant,none,identity,embedding,embeddings",
     "there is no such kind: degree, onehot, random:D and spectral:D are made of the graph (weft convert "
     "--help=formats); a "
     "file of that name is ./NAME"},
    {OPT_BACKEND, "mps,rocm,hip,xpu,tpu,mkl,openmp,opencl,vulkan,metal,torch",
     "there is no such backend: cpu, and cuda in a build with WEFT_CUDA (weft info build)"},
    {OPTION_NONE, NULL, NULL},
};

const option_foreign option_foreign_commands[] = {
    {"tune,sweep,search,hyperopt,hpo,optimize",
     "there is no tuner: start runs with other options (weft train), and weft report RUN RUN ... compares them"},
    {"fit,run,learn,finetune,fine-tune,launch,start", "weft train is the command"},
    {"test,validate,val,evaluate,score,benchmark-model", "weft eval scores a model"},
    {"infer,inference,classify,answer", "weft predict answers with a model"},
    {"serve,server,deploy,api", "there is no server: weft predict answers for a store or a folder of images at a time"},
    {"resume,continue", "weft train --resume --run-dir RUN goes on, with the options of the run"},
    {"preprocess,prepare,import,load,ingest,build,make,create,download,dataset",
     "weft convert makes a store of files; nothing is downloaded"},
    {"plot,visualize,visualise,viz,dashboard,tensorboard,compare",
     "weft report RUN draws a run, and RUN RUN ... compares several"},
    {"summary,summarize,show,inspect,stats,describe,models,list,ls",
     "weft info shows stores, runs, models and this machine"},
    {"check,diagnose,env,system", "weft doctor looks at this machine, weft info STORE --check at a store"},
    {"profile,time", "weft train --trace writes a trace; weft bench times kernels and messages"},
    {"estimate,plan,simulate",
     "weft train --dry-run tells what a job needs, weft predict-scaling its time on other machines"},
    {"save,dump,onnx", "weft export writes a model for other programs"},
    {"recipes", "weft train --help=recipes lists them"},
    {NULL, NULL},
};

const option_synonym option_synonyms[] = {
    {OPT_PRECISION, "fp32,float32,float,32", "f32"},
    {OPT_PRECISION, "bfloat16,bf16-mixed", "bf16"},
    {OPT_PRECISION, "fp16,float16,half,16,16-mixed,fp16-mixed", "f16"},
    {OPT_WIRE, "bfloat16", "bf16"},
    {OPT_WIRE, "f16,float16,half", "fp16"},
    {OPT_MODEL, "graphsage,sageconv,graph-sage", "sage"},
    {OPT_MODEL, "gcnconv,gcn-conv", "gcn"},
    {OPT_MODEL, "gatconv", "gat"},
    {OPT_MODEL, "gatv2conv", "gatv2"},
    {OPT_MODEL, "ginconv", "gin"},
    {OPT_MODEL, "sgconv,sgcn", "sgc"},
    {OPT_MODEL, "lenet5,lenet-5", "lenet"},
    {OPT_MODEL, "wrn-28-1", "wide-resnet-28-1"},
    {OPT_MODEL, "wrn-28-10", "wide-resnet-28-10"},
    {OPT_NORM, "bn,batchnorm,batch-norm,batchnorm1d", "batch"},
    {OPT_NORM, "ln,layernorm,layer-norm", "layer"},
    {OPT_LOSS, "cross-entropy,ce,crossentropyloss,nll,softmax,categorical-crossentropy", "xent"},
    {OPT_LOSS, "bcewithlogits,bcewithlogitsloss,binary-crossentropy", "bce"},
    {OPT_METRIC, "accuracy,top1,top-1", "acc"},
    {OPT_METRIC, "roc-auc,auc,auroc", "rocauc"},
    {OPT_SCHEDULE, "exponential", "exp"},
    {OPT_SCHEDULE, "polynomial", "poly"},
    {OPTION_NONE, NULL, NULL},
};
