/* app/focus/focus_network.h: what an index must know of a trained network. */
#pragma once

#include "app/predict/predictor.h"
#include "focus/index/focus_index.h"

/* [out] hash: of the weights, of the options that the network is made by, and of the names of its classes: another
 * network has another one, and a copy elsewhere the same. p: opened. On the rank that opened the model. */
void focus_network_hash(const predictor *p, char hash[FOCUS_HASH_BYTES]);
/* WEFT_ERR_UNSUPPORTED unless the network answers with classes, at most FOCUS_CLASSES_MAX of them, and for some rows as
 * for all, batch by batch in their order. p: loaded. */
weft_status focus_network_check(const predictor *p);
/* [out] class: the class of this name, or of this number where classes have no names. WEFT_ERR_USAGE: there is none;
 * the message lists the names. `of`: the network or index, for messages. */
weft_status focus_network_class(const name_list *names, int64_t classes, const char *of, const char *name,
                                int64_t *class);
/* The class of an index that stands for a class of the expensive network, one of `all`: that of its name, or of its
 * number where these have no names; without one that of all others (--classes of the training), the only one that the
 * expensive network knows no class of. WEFT_ERR_USAGE. */
weft_status focus_network_indexed(const name_list *indexed, int64_t classes, const char *of, const name_list *expensive,
                                  int64_t all, const char *name, int64_t *class);
