/* dense/net/zoo_text.h: networks on texts, whose layers are named as PyTorch's modules name them. */
#pragma once

#include <stdio.h>

/* An encoder of 128 channels, 4 heads and so many layers, with norms in front (R. Xiong et al., ICML 2020, arXiv
 * 2002.04745), and the mean over a text's tokens. */
void zoo_write_encoder(FILE *out, int layers);
