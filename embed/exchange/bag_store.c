/* embed/exchange/bag_store.c: see embed/exchange/bag_store.h. */
#include "embed/exchange/bag_store.h"

#include "base/alloc.h"
#include "embed/rows/row_store.h"

weft_status bag_store_reserve(bag_store *store, bool weighted, int64_t bags, int64_t keys)
{
    if (store->at == NULL || bags > store->bags) {
        weft_free(store->at);
        store->at = NULL;
        store->bags = 0;
        WEFT_TRY(WEFT_NEW(&store->at, bags + 1, WEFT_MEM_ROWS));
        store->bags = bags;
    }
    if (keys > store->keys) {
        const int64_t room = keys + keys / 2;
        WEFT_FREE_ALL(store->key, store->weight);
        store->key = NULL;
        store->weight = NULL;
        store->keys = 0;
        WEFT_TRY(WEFT_NEW(&store->key, room, WEFT_MEM_ROWS));
        WEFT_TRY(weighted ? WEFT_NEW(&store->weight, room, WEFT_MEM_ROWS) : WEFT_OK);
        store->keys = room;
    }
    return WEFT_OK;
}

void bag_store_free(bag_store *store)
{
    WEFT_FREE_ALL(store->at, store->key, store->weight);
    *store = (bag_store){.at = NULL};
}
