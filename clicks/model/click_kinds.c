/* clicks/model/click_kinds.c: see clicks/model/click_kinds.h. */
#include "clicks/model/click_kinds.h"

#include <assert.h>

const click_kind_row *click_kind_of(click_kind kind)
{
    static const click_kind_row rows[CLICK_KINDS] = {
        [CLICK_LR] = {.linear = true},
        [CLICK_FM] = {.linear = true, .fm = true, .vectors = true},
        [CLICK_WIDE_DEEP] = {.linear = true, .vectors = true, .part = {[CLICK_PART_DEEP] = true}},
        [CLICK_DEEPFM] = {.linear = true, .fm = true, .vectors = true, .part = {[CLICK_PART_DEEP] = true}},
        [CLICK_DCN] = {.vectors = true, .part = {[CLICK_PART_DEEP] = true, [CLICK_PART_CROSSED] = true}},
        [CLICK_DCN_V2] = {.vectors = true, .part = {[CLICK_PART_DEEP] = true, [CLICK_PART_MATRIX] = true}},
        [CLICK_DLRM] = {.vectors = true, .part = {[CLICK_PART_DOTS] = true}},
        [CLICK_XDEEPFM] = {.linear = true,
                           .vectors = true,
                           .part = {[CLICK_PART_DEEP] = true, [CLICK_PART_CIN] = true}},
    };
    assert(kind >= 0 && kind < CLICK_KINDS);
    return &rows[kind];
}
