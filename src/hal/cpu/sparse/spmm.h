/*
 * hal/cpu/sparse/spmm.h: the prepared matrix of the CPU backend, and what its builders and kernels share. See spmm.c.
 */
#pragma once

#include "hal/cpu/cpu_backend.h"
#include "hal/share.h"

enum {
    SPMM_STRIP = 32,              /* columns of a packed strip: two cache lines of a source row, one of bfloat16 */
    SPMM_STRIP_NARROW = 16,       /* strip of a width, or a remainder, of at most 16 columns */
    SPMM_WINDOW = 1024,           /* destination rows whose lists are sorted together */
    SPMM_BAND = 2048,             /* the same of TILES: their sums stay in the second-level cache */
    SPMM_TILE_EDGES = 8,          /* of a row in a tile: what they save is what the row costs there */
    SPMM_MIN_BLOCK = 8192,        /* sources of a block; a power of two */
    SPMM_MAX_BLOCK = 65536,       /* 16-bit local columns */
    SPMM_ROWS_PACKED = 64,        /* ROWS: widest run whose sources are packed ... */
    SPMM_ROWS_REUSED = 20,        /* ... of matrices with so many edges a source */
    SPMM_PREFETCH_EDGES = 32,     /* ROWS: how far the prefetch of far sources runs ahead */
    SPMM_PREFETCH_ROWS = 8,       /* BLOCKS: how far the prefetch of partial sums runs ahead */
    SPMM_PREFETCH_LISTED = 32,    /* the same of LISTS */
    SPMM_PREFETCH_COLUMNS = 1024, /* and that of columns */
    SPMM_WEIGHTED_EDGES = 16,     /* ROWS with values: how far the prefetch of sources runs ahead */
    SPMM_FEATURE_EDGES = 4,       /* the same of sparse features */
    SPMM_SHARED_READS = HAL_SHARED_SPARE, /* SHARED: the same */
    SPMM_SHARED_ROWS = 4,                 /* SHARED: that of rows of out, which are in no order */
    SPMM_SOURCES_AHEAD = 24,              /* packing in another order: that of rows of x */
    SPMM_SLACK = 64                       /* entries behind 16-bit arrays that kernels may read */
};

/* ROWS: the edges of row r are far[end[r-1].far .. end[r].far) and near[...]; row 0 starts at 0 (end is shifted). */
typedef struct spmm_row_end {
    int64_t far, near;
} spmm_row_end;

typedef struct spmm_rows {
    spmm_row_end *start; /* [rows + 1] */
    int32_t *far;        /* sources that a modelled cache misses */
    int32_t *near;       /* sources that it holds */
} spmm_rows;

/* ROWS of edges with weights. */
typedef struct spmm_weighted {
    int64_t *offset; /* [rows + 1]; NULL: without weights */
    int32_t *column;
    float *value;
} spmm_weighted;

/* ROWS: rows cut into pieces (spmm_long_rows.h). */
typedef struct spmm_long_rows {
    int64_t count;
    int64_t *row;   /* [count] ascending */
    int64_t *first; /* [count + 1] piece */
    double *sum;    /* [pieces, ld] partial sums, of float32 or float64 as the run */
    int64_t ld;
} spmm_long_rows;

/* LISTS: `rows` rows of `edges` edges each, after moving `advance` windows on; those of tiles: tiles. */
typedef struct spmm_run {
    uint32_t edges;
    uint16_t rows; /* SPMM_UNMARKED in the highest bit: they are not marked (spmm_marks.h) */
    uint16_t advance;
} spmm_run;

enum { SPMM_UNMARKED = 0x8000 };

static inline uint32_t spmm_run_rows(spmm_run run)
{
    return run.rows & (SPMM_UNMARKED - 1U);
}

static inline bool spmm_run_unmarked(spmm_run run)
{
    return (run.rows & SPMM_UNMARKED) != 0;
}

/* Where the data of (part, block), or of a band, begin; the next entry is the end. */
typedef struct spmm_chunk {
    int64_t run, row, edge;
} spmm_chunk;

typedef struct spmm_blocks {
    int64_t first, count; /* blocks held: all of them, or a sample */
    int shift;            /* log2 of the sources of a block */
    int64_t window;       /* LISTS: rows sorted together */
    int64_t row_step;     /* LISTS: rows that a run's advance counts, a window; or 0 */
    int64_t column_step;  /* columns that it counts: those of a tile, or 0 */
    spmm_chunk *chunk;    /* [parts * count + 1], part-major: the memory of a part is near its thread */
    uint16_t *column;     /* [edges] local to the block */
    uint32_t *row_start;  /* BLOCKS: for each chunk rows of the part + 1 offsets from the chunk's first edge */
    spmm_run *run;        /* LISTS */
    uint16_t *row_id;     /* LISTS: local to the window, in run order */
} spmm_blocks;

/* One sweep over the matrix for one strip of columns. Sums and scales are float32; x, self and out each of float32 or
 * bfloat16 (`narrow`). */
typedef struct spmm_pass {
    const void *x; /* sources; packed [cols, strip] for BLOCKS and LISTS, where `pre` is already applied */
    int64_t ldx;
    bool narrow;      /* x, as it is or as it is packed */
    int width;        /* columns of the strip that exist */
    const float *pre; /* ROWS, with values or without, of sources that are not packed */
    const float *post, *diag;
    const void *self; /* unscaled sources for the diagonal */
    int64_t ldself;
    bool narrow_self;
    float beta;
    bool marked_rows;     /* LISTS: edges of unmarked rows are left out */
    const int32_t *order; /* BLOCKS, SHARED: the row of the matrix whose sums are the i-th; NULL: row i */
    int64_t left_end;     /* BLOCKS: edges of rows behind those of the sweep, up to this one, are left out */
    bool first, last;     /* blocked forms: the sweep over the first block starts the sums, the last one writes out */
    float *sum;           /* blocked forms: [rows, strip] partial sums */
    bool stream;          /* ROWS: write past the caches; self and out are float32 */
    void *out;
    int64_t ldo;
    bool narrow_out;
} spmm_pass;

/* How a strip of bfloat16 is packed for vectors of `lanes` floats. Paired: 32-bit word i holds column i in its lower
 * half and column strip / 2 + i in its upper one, so that a shift and a mask make two vectors of floats; else columns
 * stand in order. */
static inline bool spmm_paired(int strip, int lanes)
{
    return strip >= 2 * lanes;
}

/* SHARED: rows of hal/share.h, partial sums first. Row r adds columns [start[2 r], start[2 r + 1]) and subtracts those
 * up to start[2 r + 2]: all reads stand in the order in which they are made, and one prefetch runs ahead of them. */
typedef struct spmm_shared_rows {
    int64_t targets, sources, sums;
    int levels;
    int64_t *level;  /* [levels + 1] first partial sum of each */
    int64_t *start;  /* [2 (sums + targets) + 1] */
    int32_t *column; /* [reads + HAL_SHARED_SPARE] */
} spmm_shared_rows;

/* A matrix of numbers, most of which are zeros and not held: features, or their transpose (feature_product.c), or the
 * weights of edges (spmm_weighted.c). */
typedef struct sparse_features {
    const int64_t *offset;
    const int32_t *column;
    const float *value;
    bool transposed;
    const hal_dropout *dropout; /* NULL: none */
    int ahead;                  /* entries that the prefetch runs ahead */
} sparse_features;

/* Kernels of one instruction set. All work on rows [begin, end) or on one chunk of a part that starts at row `begin`.
 */
typedef struct spmm_kernels {
    int lanes;       /* floats of a vector */
    int max_vectors; /* widest strip of ROWS, in vectors */
    void (*rows)(const spmm_rows *m, int64_t begin, int64_t end, const spmm_pass *pass);
    void (*blocks)(const uint32_t *start, const uint16_t *column, int strip, int64_t begin, int64_t end,
                   const spmm_pass *pass);
    void (*lists)(const spmm_blocks *m, const spmm_chunk *chunk, int strip, int64_t begin, const spmm_pass *pass);
    int feature_vectors; /* widest strip of `features` */
    void (*features)(const sparse_features *m, int64_t begin, int64_t end, const spmm_pass *pass);
    /* Rows [begin, end) of strips of 16 or 32 columns; row i is written to out's row i - first_out. */
    void (*shared)(const spmm_shared_rows *m, int strip, int64_t begin, int64_t end, int64_t first_out,
                   const spmm_pass *pass);
    /* Sum of max(0, 2 p - q - 1) over masks, where p of the q rows of m are in the mask. */
    int64_t (*share_gain)(const uint64_t *mask, int64_t count, uint64_t m);
    uint32_t (*share_hash)(const int32_t *column, int64_t count, uint32_t seed); /* the least of the columns' */
} spmm_kernels;

extern const spmm_kernels spmm_kernels_base;
extern const spmm_kernels spmm_kernels_avx2;
extern const spmm_kernels spmm_kernels_avx512;

const spmm_kernels *spmm_kernels_of(hal_isa isa);

struct hal_spmm {
    int64_t rows, cols, edges, max_d;
    int64_t usual_d; /* the width that most columns are run at: strips are at most as wide as its widest one */
    int parts;
    spmm_long_rows long_rows; /* ROWS: the swept matrix is what is split and held below */
    int64_t *split;           /* [parts + 1] rows of each part: equal edges */
    hal_spmm_form form;
    const spmm_kernels *kernels;
    spmm_rows by_row;
    spmm_blocks by_block;
    spmm_blocks tiles;      /* TILES: a chunk each of `count` bands; by_block has the other edges, in lists */
    int64_t *first_band;    /* [parts + 1] a band is `window` rows of a part */
    spmm_weighted weighted; /* ROWS of a matrix with values, instead of by_row */
    spmm_shared_rows shared;
    int64_t *shared_split; /* [(levels + 1), parts + 1] rows of each part in a level, last of the matrix's rows */
    bool marked;           /* BLOCKS or LISTS of a matrix with marks (spmm_marks.h) */
    int32_t *order;        /* [rows] BLOCKS: rows of each part, the marked ones first; SHARED: all, as they are
                            * summed; NULL: as they are numbered */
    int64_t *marked_end;   /* [parts] BLOCKS: where the marked ones of a part end; NULL with `order` */
    int64_t places;        /* of the packed strip: cols, or more where columns are marked */
    int32_t *source;       /* [places] column of a place, -1: none; NULL: columns are in their places */
    int64_t marked_blocks; /* of marked columns; all of them where columns are not marked */
    /* [places, strip]: one strip of x, in float32 or bfloat16; ROWS: [cols, spmm_rows_packed], or NULL; SHARED: [cols +
     * sums, strip] in float32, behind the sources the partial sums */
    float *packed;
    float *sum;     /* [rows, strip]: partial sums of that strip */
    int64_t blocks; /* of the whole matrix */
    uint64_t bytes;
    double build_seconds;
};

/* Width of most runs of a matrix whose operands have at most max_d columns. */
static inline int64_t spmm_usual(const hal_csr *csr, int64_t max_d)
{
    return csr->usual_d > 0 && csr->usual_d < max_d ? csr->usual_d : max_d;
}

/* Columns of the strips that `d` columns, or what is left of them, are packed to. */
static inline int spmm_strip(int64_t d)
{
    return d > SPMM_STRIP_NARROW ? SPMM_STRIP : SPMM_STRIP_NARROW;
}

/* Of a source in a packed strip. */
static inline uint64_t spmm_strip_bytes(hal_spmm_form form, int64_t d)
{
    return (uint64_t)spmm_strip(d) * (form == HAL_SPMM_I16 ? sizeof(uint16_t) : sizeof(float));
}

/* log2 of the sources of a block: its strip fills the second-level cache (BLOCKS, I16) or half of it (LISTS, TILES).
 */
int spmm_block_shift(hal_spmm_form form, int64_t usual_d);
/* The same of a tile: at most three quarters of the first-level cache. */
int spmm_tile_shift(int64_t usual_d);

/* Sources are cut into blocks of 2^shift: how many, at least one. */
static inline int64_t spmm_block_count(int64_t cols, int shift)
{
    return cols > 0 ? ((cols - 1) >> shift) + 1 : 1;
}

/* Block of a column among those held, or a negative or too large number. */
static inline int64_t spmm_block_of(const spmm_blocks *m, int32_t column)
{
    return ((int64_t)column >> m->shift) - m->first;
}

static inline uint16_t spmm_local_of(const spmm_blocks *m, int32_t column)
{
    return (uint16_t)(column & ((INT32_C(1) << m->shift) - 1));
}

static inline bool spmm_holds(const spmm_blocks *m, int64_t block)
{
    return block >= 0 && block < m->count;
}

/* Allocate and count. */
weft_status spmm_new(hal_spmm *spmm, size_t count, size_t size, void **out);

/* Sources that the modelled cache holds: direct-mapped, `slots` a power of two, table[slots] filled with -1. */
static inline bool spmm_cache_hit(int32_t *table, int32_t mask, int32_t column)
{
    int32_t slot = column & mask;
    bool hit = table[slot] == column;
    table[slot] = column;
    return hit;
}
int32_t spmm_cache_slots(int64_t max_d);

/* Columns of a source that the modelled cache has room for. */
static inline int64_t spmm_cache_width(int64_t max_d)
{
    return max_d < 16 ? 16 : max_d > 256 ? 256 : max_d;
}

static inline bool spmm_is_tiled(const hal_spmm *spmm)
{
    return spmm->form == HAL_SPMM_TILES;
}

/* Sources in blocks: BLOCKS, LISTS, TILES and I16. */
static inline bool spmm_is_blocked(hal_spmm_form form)
{
    return form != HAL_SPMM_ROWS && form != HAL_SPMM_SHARED;
}

/* A matrix with values; they are held by ROWS alone. */
static inline bool spmm_is_weighted(const hal_spmm *spmm)
{
    return spmm->weighted.offset != NULL;
}

/* Columns of the next strip of `features`, of `left` columns: a power of two of vectors, or what is left of one. */
static inline int spmm_feature_strip(const spmm_kernels *kernels, int64_t left)
{
    const int64_t vectors = (left + kernels->lanes - 1) / kernels->lanes;
    int64_t widest = kernels->feature_vectors;
    while (widest > vectors) {
        widest /= 2;
    }
    const int64_t width = widest * kernels->lanes;
    return (int)(width < left ? width : left);
}

/* csr: the swept matrix, of spmm->rows rows. */
weft_status spmm_build_rows(hal_spmm *spmm, const hal_csr *csr);
/* Blocks [first, first + count). */
weft_status spmm_build_blocks(hal_spmm *spmm, const hal_csr *csr, int64_t first, int64_t count);
/* LISTS and TILES; TILES has all blocks. */
weft_status spmm_build_lists(hal_spmm *spmm, const hal_csr *csr, int64_t first, int64_t count);
/* For both: chunks of blocks [first, first + count), all empty. */
weft_status spmm_begin_blocks(hal_spmm *spmm, const hal_csr *csr, int64_t first, int64_t count);
/* chunk[i] holds the sizes of chunk i: turn them into starts. The last entry, zero, becomes the total. */
void spmm_sizes_to_starts(spmm_chunk *chunk, int64_t chunks);
weft_status spmm_new_columns(hal_spmm *spmm, int64_t edges, uint16_t **column);

/* ROWS: columns of `packed`; whether sources are read often enough for it, and from here on. */
static inline int64_t spmm_rows_packed(int64_t max_d)
{
    return max_d < SPMM_ROWS_PACKED ? max_d : SPMM_ROWS_PACKED;
}
bool spmm_reuses_rows(const hal_csr *csr);
weft_status spmm_pack_rows(hal_spmm *spmm);

/* The matrix in this form. [out] *spmm: spmm_free; NULL on failure. */
weft_status spmm_prepare(weft_hal *hal, const hal_csr *csr, hal_spmm_form form, int64_t max_d, hal_spmm **spmm);
/* What its forms cost (spmm_auto.c): hal_sparse_ops' spmm_try, of a checked csr. */
weft_status spmm_try(weft_hal *hal, const hal_csr *csr, const hal_spmm_request *request, hal_spmm_trial *trial);

/* An empty prepared matrix of this form; BLOCKS and LISTS are split. */
weft_status spmm_begin(weft_hal *hal, const hal_csr *csr, hal_spmm_form form, int64_t max_d, hal_spmm **spmm);
void spmm_free(hal_spmm *spmm);

/* One run: x is [cols, d], out [rows, d]; see hal/ops.def. */
typedef struct spmm_call {
    int64_t d;
    const void *x;
    int64_t ldx;
    bool wide;                     /* the run's element type: float64, else float32 */
    bool narrow, narrow_out;       /* x, out: bfloat16; else the run's element type */
    const void *pre, *post, *diag; /* or NULL */
    double beta;
    void *out;
    int64_t ldo;
    hal_spmm_part part;
    int slice, slices; /* slices 0 or 1: the whole run */
} spmm_call;

/* Double precision: plain C over any form. */
void spmm_run_double(const hal_spmm *spmm, const spmm_call *args);
void spmm_run_float(const hal_spmm *spmm, const spmm_call *args);

/* What a strip of `width` columns from `column` on is run with, and where a slice starts among the swept rows of a
 * part. */
spmm_pass spmm_pass_of(const spmm_call *args, int64_t column, int width);
int64_t spmm_first_row(const hal_spmm *spmm, const spmm_call *args, int part, int slice);

/* Copies a part's share of a strip of x, scaled, to packed [cols, strip] in float32; columns past the width become
 * zeros. */
void spmm_pack_wide(const hal_spmm *spmm, const spmm_pass *pass, int strip, int part);

/* csr->value is there. */
weft_status spmm_build_weighted(hal_spmm *spmm, const hal_csr *csr);
void spmm_run_weighted(const hal_spmm *spmm, const spmm_call *args);
