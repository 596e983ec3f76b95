/* app/trees/options/trees_foreign_words.c: answers for those who come from XGBoost, LightGBM and CatBoost; see
 * app/options/option_foreign_words.c. */
#include "app/trees/options/trees_options.h"

const option_foreign trees_foreigns[] = {
    {"tree-method,updater,tree-learner,force-col-wise,force-row-wise,histogram-pool-size,max-cached-hist-node,"
     "extmem-single-page,pre-partition,two-round,device-memory-ratio,single-precision-histogram",
     "trees grow from histograms (hist), rows dealt to ranks; --bins N sets their bins, --memory-limit the memory"},
    {"colsample-bylevel,colsample-bynode,feature-fraction-bynode,feature-weights,feature-contri",
     "--colsample X draws columns for each tree; there is no draw for a level or a node, and no weight of a column"},
    {"alpha,l1", "--lambda-l1 X brings the gradients of a leaf nearer to 0 (weft train --help=trees); of quantiles the "
                 "share is --quantile X"},
    {"boosting-type", "--booster gbtree|dart grows the trees; --row-sampling goss draws rows as goss does"},
    {"process-type,refresh-leaf,refit-decay-rate,forcedsplits-filename,forcedbins-filename,max-bin-by-feature",
     "there is no such: trees are grown from the data alone; --resume and --init-weights go on with a forest"},
    {"num-parallel-tree,extra-trees,extra-seed,random-forest,rf",
     "there is no random forest: an epoch adds one tree (of each class)"},
    {"multi-strategy", "every round grows a tree for each class, none for several at once"},
    {"sample-type,normalize-type,one-drop,max-drop,uniform-drop,xgboost-dart-mode,drop-seed",
     "--booster dart draws earlier rounds uniformly, by --rate-drop and --skip-drop; there is no more to choose"},
    {"eval-metric,disable-default-eval-metric,first-metric-only,is-provide-training-metric,metric-freq,auc-mu-weights,"
     "multi-error-top-k",
     "--metric NAME is the score, of train, valid and test, every --eval-every epochs"},
    {"seed-per-iteration,bagging-seed,feature-fraction-seed,data-random-seed,objective-seed",
     "--seed S draws rows and columns, of each tree by its number"},
    {"num-round,nrounds,n-rounds,num-trees-per-round", "--epochs N, or --trees N, is the number of trees"},
    {"enable-categorical,categorical-feature,cat-feature,cat-features,use-missing,zero-as-missing,is-enable-sparse,"
     "enable-bundle,feature-pre-filter,precise-float-parser,parser-config-file,min-data-in-bin",
     "the file tells: --category names columns of words, --missing words for a missing value, --absent what a LIBSVM "
     "line leaves out (weft convert --help=columns)"},
    {"bin-construct-sample-cnt,subsample-for-bin",
     "cuts between bins are quantiles of all training rows; --bins N is how many bins a column has"},
    {"feature-types",
     "--category NAME,NAME names columns whose cells are words of a list; those of other cells are numbers"},
    {"verbose-eval", "--eval-every N evaluates and logs every N epochs; --quiet logs only warnings"},
    {"evals,eval-set,valid-sets",
     "--valid FILE, or --valid-share X of the rows, validates after every round, --test is scored, too"},
    {"importance-type,saved-feature-importance-type",
     "weft explain RUN DATA gives SHAP values; run.model in Python has the trees"},
    {"lambdarank-pair-method,lambdarank-norm,ndcg-exp-gain,label-gain,objective-rank",
     "--loss rank is LambdaMART with gains of 2^label - 1; --ndcg-at K and --rank-truncation K are what it has"},
    {"tweedie-variance-power,aft-loss-distribution,fair-c,poisson-max-delta-step,sigmoid,reg-sqrt,boost-from-average",
     "losses of numbers are squared, absolute, huber, quantile and poisson; --base-score X|auto is the first answer"},
    {"feature-selector,top-k,linear-tree,linear-lambda,gblinear",
     "there are no linear boosters and no linear leaves: --model lr is logistic regression, of clicks"},
    {"validate-parameters", "every option is checked: an unknown one ends the program before it starts"},
    {"min-data-in-leaf,min-child-samples,min-data",
     "--min-child-weight X is the sum of hessians of a leaf: with squared loss its rows"},
    {"pos-bagging-fraction,neg-bagging-fraction,bagging-freq,bagging-by-query,subsample-freq",
     "--subsample X draws rows anew for every tree, of all classes and queries alike"},
    {"early-stopping-min-delta,early-stopping-threshold", "--patience N ends a run; any better score counts"},
    {"min-data-per-group", "--category-smooth X is also how many rows a word needs in a node to be told apart"},
    {"monotone-constraints-method,monotone-penalty",
     "--monotone NAME:+1 holds in every split (basic), without penalty"},
    {"cegb-tradeoff,cegb-penalty-split,cegb-penalty-feature-lazy,path-smooth",
     "there is no such penalty: --min-split-gain, --lambda and --max-step hold leaves back"},
    {"use-quantized-grad,num-grad-quant-bins,quant-train-renew-leaf,stochastic-rounding",
     "gradients of a tree are rounded to 16 bits and summed as whole numbers in any case; leaves are summed anew, "
     "exactly"},
    {"group-column", "--group COLUMN, or --query, names the queries of a ranking"},
    {NULL, NULL},
};
