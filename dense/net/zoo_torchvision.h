/*
 * dense/net/zoo_torchvision.h: texts of networks whose layers are named as torchvision names them (mobilenet-v1: timm),
 * so that weights go to and fro; see dense/net/zoo.h, which lists them.
 */
#pragma once

#include <stdio.h>

/* depth: 11 or 16. */
void zoo_write_vgg(FILE *out, int depth);
/* version: 1 or 2. */
void zoo_write_mobilenet(FILE *out, int version);
/* The 121 layers of densenet-121; the argument is not read. */
void zoo_write_densenet(FILE *out, int argument);
/* The tiny one; the argument is not read. */
void zoo_write_convnext(FILE *out, int argument);
