/* dense/net/zoo_text.c: see dense/net/zoo_text.h. */
#include "dense/net/zoo_text.h"

#include "dense/net/net.h"

enum { WIDTH = 128, HEADS = 4, WIDER = 4 };

void zoo_write_encoder(FILE *out, int layers)
{
    char before[NET_NAME_BYTES] = "position";
    fprintf(out, "embedding: embed words %d\nposition: position\n", WIDTH);
    for (int i = 0; i < layers; ++i) {
        char name[NET_NAME_BYTES / 2];
        snprintf(name, sizeof name, "encoder.layers.%d", i);
        fprintf(out, "%s.norm1: layernorm\n%s.self_attn.in_proj_: pointwise %d\nattention %d\n", name, name, 3 * WIDTH,
                HEADS);
        fprintf(out, "%s.self_attn.out_proj: pointwise %d\ndropout 0.1\n%s.attended: add %s\n", name, WIDTH, name,
                before);
        fprintf(out, "%s.norm2: layernorm\n%s.linear1: pointwise %d\ngelu\n", name, name, WIDER * WIDTH);
        fprintf(out, "%s.linear2: pointwise %d\ndropout 0.1\n%s: add %s.attended\n", name, WIDTH, name, name);
        snprintf(before, sizeof before, "%s", name);
    }
    fputs("encoder.norm: layernorm\ntokenmean\nclassifier: linear classes\n", out);
}
