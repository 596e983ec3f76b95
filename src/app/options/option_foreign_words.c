/*
 * app/options/option_foreign_words.c: answers for those who come from other programs.
 *
 * DGL, PyG and scikit-learn have options for what a full-batch training on CPUs has no use for, or spells otherwise.
 * The nearest name would mislead (--batch-size is no --bucket-size), so these words have an answer of their own, which
 * comes before the search for a near name. Where they have another word for the same choice, that word is taken. Words
 * of one kind of workload stand with its options.
 */
#include "app/options/app_options.h"
#include "app/options/foreign_words.h"

const option_foreign app_foreigns[] = {
    {"n-jobs,num-omp-threads,num-threads,nthreads,n-threads,nthread,num-cpus,cpus,cores,num-cores",
     "--threads N sets the threads of each rank, mpirun -np the ranks"},
    {"gpu,gpus,gpu-id,num-gpus,num-gpu,gpu-platform-id,gpu-device-id,gpu-use-dp,device-type,n-gpus,cuda,no-cuda,use-"
     "cuda,use-gpu,device,devices,accelerator",
     "weft computes on CPUs (--threads N sets the threads of each rank, mpirun -np the ranks); built with WEFT_CUDA, "
     "on GPUs by --backend cuda"},
    {"np,n,ranks,num-ranks,n-ranks,nprocs,num-procs,nproc-per-node,nnodes,world-size,hostfile,hosts,"
     "master-addr,master-port,dist-url,dist-backend,local-rank,map-by,bind-to,oversubscribe,num-proc,node-rank,"
     "slots-per-host,num-trainers,num-trainers-per-machine,num-clients,num-servers,ip-config,num-machines,machines,"
     "machine-list-filename,role,local-ranks-filter,jsrun,mpi-args,tcp,mpi,gloo,address,ray-address,binding-args,"
     "resources-per-worker,scaling-config,rank,nproc,multiprocessing-distributed",
     "ranks are the launcher's, and its options stand before the program: mpirun -np 4 weft ..."},
    {"rdzv-backend,rdzv-endpoint,rdzv-id,rdzv-conf,standalone,local-addr,ssh-port,ssh-identity-file,start-timeout,"
     "gloo-timeout-seconds,local-listen-port,redis-port,head,server-env,runtime-env-json",
     "there is no rendezvous and no server: the ranks that mpirun or srun starts find each other through MPI"},
    {"max-restarts,min-np,max-np,elastic-timeout,reset-limit,max-failures,fail-fast",
     "a job does not restart by itself: start it again with --resume, on any number of ranks; share/weft/slurm has a "
     "batch script that does"},
    {"monitor-interval,no-stall-check,stall-check-warning-time-seconds,stall-check-shutdown-time-seconds",
     "--stall-timeout T ends a job of which a rank makes no progress"},
    {"network-interfaces,network-interface,nics",
     "MPI chooses the network by its own variables: OMPI_MCA_btl_tcp_if_include (Open MPI), FI_TCP_IFACE (MPICH); weft "
     "doctor measures its links"},
    {"numa-binding,thread-affinity,cpu-affinity,cpu-bind", "--pin auto|on|off|inherit pins threads, near their memory"},
    {"redirects,tee,output-filename,log-hide-timestamp,logs-specs",
     "rank 0 writes the log, on stderr; results are on stdout and in --run-dir DIR"},
    {"module,no-python,run-path,working-dir,workspace,start-method,mpi-threads-disable",
     "weft is the program, and starts no script: mpirun -np 4 weft train ...; a Python script under mpirun calls "
     "weft.train (docs/howto-python.md)"},
    {"config-file,conf,conf-path,config-path", "--config FILE reads options; --print-config writes such a file"},
    {"check-build", "weft info build says what the program was built with, weft doctor what this machine can do"},
    {"fusion-threshold-mb,bucket-cap-mb,cycle-time-ms,gradient-bucket",
     "--bucket BYTES are the gradients that are reduced together; they leave as they are ready, in no cycles"},
    {"disable-cache,cache-capacity,object-store-memory",
     "there is no such cache: every rank knows the order of messages from the start"},
    {"hierarchical-allreduce,hierarchical-allgather,num-nccl-streams,torus-allreduce",
     "--allreduce two-level reduces in each node first; auto chooses by measured links"},
    {"autotune,autotune-log-file,autotune-warmup-samples,autotune-steps-per-sample,autotune-bayes-opt-max-samples,"
     "autotune-gaussian-process-noise",
     "--calibrate measures the links once, and --allreduce auto and --sync auto choose by them"},
    {"timeline-filename,timeline-mark-cycles,timeline,profiler", "--trace records what each rank did when"},
    {"study-name,study,name,local-dir,storage-path,experiment-name,state,values,skip-if-exists",
     "--run-dir DIR is the folder of a search, and --resume goes on with it"},
    {"storage",
     "there is no data base: --run-dir DIR is the folder of a search, and its ranks share trials through MPI"},
    {"sampler-kwargs,pruner-kwargs,n-startup-trials,n-warmup-steps,n-ei-candidates,constant-liar",
     "--searcher has no more options than weft tune --help=tune lists; --grace EPOCHS and --reduction N are those of "
     "--scheduler"},
    {"sampling-method",
     "weft tune has --searcher and --trials; trees have --subsample and --row-sampling; graphs are trained in full "
     "batch, without samples of neighbours"},
    {"direction,directions,mode,maximize,minimize",
     "scores are maximised and errors minimised by what they are; --objectives names up to 4 of a search"},
    {"timeout,time-budget-s,time-budget",
     "--max-hours H ends a training with a checkpoint, --budget-rank-hours a search"},
    {"max-concurrent-trials,resources-per-trial,concurrent-trials,parallelism",
     "--ranks-per-trial G ranks train a trial; all others of the job train trials beside it"},
    {"multivariate", "--searcher tpe looks at all dimensions together, unless --univariate is given"},
    {"gc-after-trial,show-progress-bar", "there is no need for it: trials are told in lines of the log, as they end"},
    {"checkpoint-freq,snapshot-freq,save-steps",
     "--checkpoint-every N|TIME writes checkpoints, every N epochs or, with 500steps, steps"},
    {"max-resource,max-t", "--epochs N is what a trial trains at most, --grace EPOCHS what it trains at least"},
    {"load-if-exists", "--resume goes on with the search in --run-dir DIR, and begins one where there is none"},
    {"catch", "a trial that diverges, or that the training refuses, is recorded as failed with its reason, and the "
              "search goes on"},
    {"callbacks,callback",
     "there are no callbacks: --patience N, --checkpoint-every and --schedule do their work, and each epoch's line of "
     "metrics.jsonl in --run-dir can be followed"},
    {"zero-stage",
     "there is no ZeRO: each rank holds all weights and moments; --precision bf16 halves what stands between layers, "
     "and --dry-run tells the memory"},
    {"num-class", "the classes are those of the labels"},
    {"is-unbalance", "--class-weights balanced weighs rows of networks, --scale-pos-weight those of trees"},
    {"input-model,model-in,xgb-model,init-model",
     "--init-weights MODEL starts from another, --resume goes on with --run-dir"},
    {"output-model,model-out,save-binary",
     "--run-dir DIR keeps the model; weft export RUN writes it for other programs"},
    {"cpu,loader,inference-mode",
     "weft computes on CPUs, in full batch where the data are a graph; weft predict and weft eval ask a model"},
    {"early-stopping,early-stopping-patience,early-stopping-rounds,early-stopping-round,es-patience,"
     "stopping-patience",
     "--patience N stops a run after N evaluations without a better validation score"},
    {"iterations,num-iterations,iters,num-iters,max-iter,max-iters,steps,max-steps,max-epochs,max-epoch,n-iter,"
     "num-train-epochs",
     "--epochs N: an epoch is a step in full batch, one tree (of each class) of boosted trees, a pass over all else"},
    {"lr-decay,lr-decay-rate,decay-rate,lr-gamma,gamma,lr-step-size,step-size,lr-scheduler,scheduler,lr-policy,"
     "scheduler-type,decay-epochs,decay-step,lr-scheduler-type",
     "--schedule step|cosine|linear|exp|plateau lowers the learning rate (with --schedule-step, --schedule-gamma, "
     "--warmup); XGBoost's gamma is --min-split-gain"},
    {"l2,l2-norm,l2-reg,reg,regularization,weight-decay-rate,adam-decay,decay",
     "--weight-decay X is added to the gradient"},
    {"beta1,beta2,betas,adam-beta1,adam-beta2,amsgrad",
     "Adam has beta1 0.9 and beta2 0.999; --optimizer, --lr and --adam-epsilon choose the rest"},
    {"warmup-steps,warmup-ratio,num-warmup-steps", "--warmup N is epochs of linear warm-up before the --schedule"},
    {"clip,clip-value,clip-grad-value,clipping", "--clip-norm X shortens gradients whose norm is larger"},
    {"batch-norm,batchnorm,use-bn,use-batchnorm,bn,layer-norm,layernorm,use-ln,use-layernorm",
     "--norm batch|layer normalises after each hidden layer"},
    {"amp,mixed-precision,half,use-fp16,fp16,bf16,float16,bfloat16,dtype,fp16-allreduce",
     "--precision bf16 halves what stands between layers, of networks on images f16 too, --wire bf16|fp16 the "
     "gradients that cross the network; weights and sums are float32"},
    {"deterministic,cudnn-deterministic,deterministic-mode", "--reproducible sums gradients in rank order"},
    {"output,output-dir,outdir,out-dir,log-dir,logdir,save-dir,save-path,result-dir,results-dir,run-name,save-model,"
     "model-dir,work-dir,exp-name",
     "--run-dir DIR is the folder for metrics, predictions, weights and checkpoints"},
    {"checkpoint-dir,ckpt-dir,checkpoint-path,ckpt-path,save-every,save-interval,checkpoint-interval,ckpt-every,"
     "checkpoint-format",
     "checkpoints go to DIR/ckpt of --run-dir DIR, as often as --checkpoint-every says"},
    {"load,load-checkpoint,load-ckpt,load-model,resume-from,resume-from-checkpoint,restore,restart,continue,pretrained,"
     "finetune-from,pretrain,weights",
     "--resume goes on with the run in --run-dir; --init-weights MODEL starts from the weights of another"},
    {"val-every,valid-every,validate-every,val-interval,eval-interval,eval-freq,test-every,evaluate-every,"
     "validation-freq",
     "--eval-every N evaluates every N epochs"},
    {"weighted-loss,pos-weight,loss-weights,focal-loss,balanced,balance-classes",
     "--class-weights balanced, or a number for each class, weighs the rows of networks; trees have "
     "--scale-pos-weight"},
    {"freeze-backbone,freeze-layers,unfreeze,trainable,finetune,fine-tune,transfer,feature-extract,linear-probe",
     "--init-weights MODEL starts from the weights of another, --freeze PATTERN keeps parameters as they are, and "
     "--lr-scale PATTERN=X gives them a rate of their own"},
    {"task-type,problem-type,problem,prediction-type",
     "labels tell classes, binary tasks (ROC-AUC) and, with --loss squared, numbers; --task link learns links of a "
     "graph; there are no whole graphs"},
    {"graph-classification,regression,node-classification",
     "classes of rows are learnt, binary tasks, numbers of vertices and of table rows (--loss squared), and links of "
     "a graph (--task link); there are no whole graphs"},
    {"link-prediction,edge-prediction", "--task link learns which vertices of a graph are joined"},
    {"wandb,use-wandb,wandb-project,wandb-entity,wandb-name,mlflow,neptune,comet,clearml,logger,report-to,track,"
     "tracking-uri",
     "there is no W&B and no MLflow in the program: --tensorboard writes its files, and python/weft/loggers.py hands "
     "runs on to either"},
    {"tune,tuner,sweep,hyperopt,hpo,grid-search,num-trials,n-trials,optuna,ray-tune",
     "weft tune searches recorded trainings; else start runs with other options, and weft report RUN RUN ... compares "
     "them"},
    {"lr-find,lr-finder,find-lr,auto-lr,auto-lr-find,auto-scale-batch-size,auto-batch",
     "--lr auto finds a rate; of batch sizes --dry-run tells what fits"},
    {"seed-everything,random-seed,manual-seed,random-state,global-seed", "--seed S draws weights, dropout and batches"},
    {"log-level,loglevel,verbosity,debug,silent", "--verbose logs more, --quiet only warnings"},
    {"print-freq,print-every,log-interval,logging-steps,log-every-n-steps,disp-iter,report-freq",
     "--eval-every N evaluates, logs and writes metrics every N epochs"},
    {"evaluate,eval,eval-only,test-only,val-only,validate,do-eval",
     "weft eval --data STORE --checkpoint RUN scores a model"},
    {"predict,infer,inference,do-predict", "weft predict --data STORE --checkpoint RUN answers with a model"},
    {"train,do-train,do-test", "weft train trains; eval and predict are commands of their own"},
    {"export,onnx,save-onnx,torchscript",
     "weft export RUN --out FILE.safetensors writes a model for others, FILE.onnx a network on images"},
    {"compile,jit,torch-compile,channels-last,cudnn-benchmark,benchmark",
     "nothing is compiled at run time: kernels of this processor are chosen when the program starts (weft info build)"},
    {"ddp,strategy,fsdp,zero,deepspeed,horovod,distributed,find-unused-parameters,gradient-as-bucket-view,parallel,"
     "data-parallel,dist,use-ddp,use-adasum,gradient-predivide-factor",
     "mpirun -np 4 weft train ... is all: gradients are summed by --sync allreduce; --sync lists other modes"},
    {"batches-per-allreduce,backward-passes-per-step",
     "--accumulate K takes a batch in K parts, whose gradients are reduced once"},
    {"base-lr", "--lr X is the rate of a batch, whatever the number of ranks, as --batch-size counts all of them"},
    {"arch", "--model NAME is the network"},
    {"sync-bn,sync-batchnorm", "--norm-over all, the default, sums batch statistics over ranks"},
    {"train-dir,val-dir",
     "--data FOLDER has the parts as folders: train/ and val/ or test/, with a folder for each class"},
    {"dummy,synthetic,fake-data", "--data synth:SPEC makes data from a seed, such as synth:images,n=10000,size=224"},
    {"comment,notes,tag", "runs have no notes: --run-dir DIR names a run"},
    {"model-ema,swa,polyak", "--ema 0.999 keeps the moving average of the weights, and scores and writes it"},
    {"num-iterations-per-epoch,steps-per-epoch,iters-per-epoch,limit-train-batches,overfit-batches,fast-dev-run",
     "an epoch visits everything; --epochs 1 or --dry-run try a job"},
    {NULL, NULL},
};

const option_foreign_value app_foreign_values[] = {
    {OPT_LR, "find,finder", "a number, or auto, which tries rates; --recipe has published ones, --schedule lowers it"},
    {OPT_EPOCHS, "auto,inf", "a number; --patience N ends a run after N evaluations without a better one"},
    {OPT_LOSS, "fair,mape,gamma,tweedie,gammaloss,cox",
     "of targets that are numbers there are squared, absolute, huber, quantile and poisson"},
    {OPT_LOSS, "focal,weighted,dice,hinge,triplet,contrastive,margin,kl,kld,kldiv",
     "there is no such loss: xent (classes) and bce (binary tasks); --label-smoothing X softens xent"},
    {OPT_METRIC, "f1-micro,micro-f1,precision,recall,map,hits@10,ap",
     "there is no such score: acc (of one class a row it is micro-F1), f1 (macro), top5, rocauc, of links mrr and "
     "hits; "
     "predictions.npy of the run has what others are made of"},
    {OPT_OPTIMIZER, "adamax,nadam,radam,rmsprop,adagrad,lamb,lbfgs,muon,sophia,lion",
     "there is no such optimiser: adam, adamw, adadelta, sgd (--momentum, --nesterov) and lars"},
    {OPT_SCHEDULE, "onecycle,one-cycle,cyclic,cosine-restarts,warm-restarts,noam",
     "there is no such schedule: constant, step, cosine, linear, exp, poly and plateau, behind --warmup N epochs"},
    {OPT_BACKEND, "gpu,nvidia", "GPUs are --backend cuda, in a build with WEFT_CUDA (weft info build)"},
    {OPT_BACKEND, "mps,rocm,hip,xpu,tpu,mkl,openmp,opencl,vulkan,metal,torch",
     "there is no such backend: cpu, and cuda in a build with WEFT_CUDA (weft info build)"},
    {OPTION_NONE, NULL, NULL},
};

const option_foreign app_foreign_commands[] = {
    {"sweep,search,hyperopt,hpo,optimize", "weft tune searches recorded trainings; else start runs with other options "
                                           "(weft train), and weft report RUN RUN ... "
                                           "compares them"},
    {"fit,run,learn,finetune,fine-tune,launch,start", "weft train is the command"},
    {"test,validate,val,evaluate,score,benchmark-model", "weft eval scores a model"},
    {"infer,inference,classify,answer", "weft predict answers with a model"},
    {"serve,server,deploy,api", "there is no server: weft predict answers for the data of one call"},
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

const option_synonym app_synonyms[] = {
    {OPT_PRECISION, "fp32,float32,float,32", "f32"},
    {OPT_PRECISION, "bfloat16,bf16-mixed", "bf16"},
    {OPT_PRECISION, "fp16,float16,half,16,16-mixed,fp16-mixed", "f16"},
    {OPT_WIRE, "bfloat16", "bf16"},
    {OPT_WIRE, "f16,float16,half", "fp16"},
    {OPT_LOSS, "cross-entropy,ce,crossentropyloss,nll,softmax,categorical-crossentropy", "xent"},
    {OPT_LOSS, "bcewithlogits,bcewithlogitsloss,binary-crossentropy", "bce"},
    {OPT_LOSS, "binary:logistic,binary,multi:softprob,multi:softmax,multiclass,logistic", "xent"},
    {OPT_LOSS, "mse,l2,rmse,regression,reg:squarederror,regression-l2,squared-error", "squared"},
    {OPT_LOSS, "mae,l1,reg:absoluteerror,regression-l1,absolute-error", "absolute"},
    {OPT_LOSS, "smooth-l1,smoothl1loss,huberloss", "huber"},
    {OPT_LOSS, "reg:quantileerror,pinball", "quantile"},
    {OPT_LOSS, "count:poisson", "poisson"},
    {OPT_LOSS, "rank:ndcg,lambdarank,lambdamart", "rank"},
    {OPT_METRIC, "accuracy,top1,top-1", "acc"},
    {OPT_METRIC, "macro-f1,f1-macro,f1-score", "f1"},
    {OPT_METRIC, "top-5,acc5,acc@5", "top5"},
    {OPT_METRIC, "r-squared,r2-score,coefficient-of-determination", "r2"},
    {OPT_METRIC, "l1,mean-absolute-error", "mae"},
    {OPT_METRIC, "l2-root,root-mean-squared-error", "rmse"},
    {OPT_METRIC, "poisson-nloglik,poisson,poisson-deviance", "deviance"},
    {OPT_METRIC, "roc-auc,auc,auroc", "rocauc"},
    {OPT_SCHEDULE, "exponential", "exp"},
    {OPT_SCHEDULE, "polynomial", "poly"},
    {OPT_SCHEDULE, "reduce-on-plateau,reduce-lr-on-plateau,reducelronplateau", "plateau"},
    {OPTION_NONE, NULL, NULL},
};
