/*
 * hal/backend_list.h: every backend, one line each: HAL_BACKEND(name, description).
 *
 * The name is what users type; the backend's folder defines `weft_status hal_open_<name>(hal, threads, argument)`.
 */
HAL_BACKEND(cpu, "OpenMP kernels chosen for this processor (cpu:avx2 and cpu:base cap the instruction set)")
HAL_BACKEND(ref, "plain C on one thread: the definition of every operation")
HAL_BACKEND(shadow, "debug: pretends to be a device over cpu (shadow:ref: over ref); finds missing transfers")
#if WEFT_HAVE_CUDA
HAL_BACKEND(cuda, "one NVIDIA GPU (cuda:1: the second one)")
#endif
