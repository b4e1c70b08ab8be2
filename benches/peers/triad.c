/* The kernel "triad" of the STREAM benchmark, a[i] = b[i] + q * c[i], from its published definition: three arrays of
 * doubles, each far larger than the caches, 24 bytes counted for an element. Threads have equal parts of the arrays and
 * pass over them until the time is over.
 *
 * usage: triad SECONDS THREADS BYTES-PER-ARRAY      prints bytes a second
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double *a, *b, *c;
static size_t elements, threads;
static double seconds;
static pthread_barrier_t ready;

struct part {
    size_t index;
    double bytes_per_second;
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static __attribute__((noinline)) void triad(double *restrict to, const double *restrict left, const double *restrict right,
                                            size_t count, double q)
{
    for (size_t i = 0; i < count; i++)
        to[i] = left[i] + q * right[i];
}

static void *work(void *argument)
{
    struct part *part = argument;
    size_t from = elements / threads * part->index, count = elements / threads;
    double passes = 0, begun, at;
    /* Each thread touches its part first, so that the pages are near it. */
    for (size_t i = from; i < from + count; i++)
        a[i] = 0.0, b[i] = 1.0, c[i] = 2.0;
    pthread_barrier_wait(&ready);
    begun = now();
    do {
        triad(a + from, b + from, c + from, count, 3.0);
        passes++;
        at = now();
    } while (at - begun < seconds);
    part->bytes_per_second = passes * count * 3 * sizeof(double) / (at - begun);
    return NULL;
}

int main(int count, char **arguments)
{
    if (count != 4)
        return 2;
    seconds = atof(arguments[1]);
    threads = strtoul(arguments[2], NULL, 10);
    elements = strtoul(arguments[3], NULL, 10) / sizeof(double);
    a = aligned_alloc(4096, elements * sizeof(double));
    b = aligned_alloc(4096, elements * sizeof(double));
    c = aligned_alloc(4096, elements * sizeof(double));
    struct part *parts = calloc(threads, sizeof(struct part));
    pthread_t *ids = calloc(threads, sizeof(pthread_t));
    if (!a || !b || !c || !parts || !ids || pthread_barrier_init(&ready, NULL, threads))
        return 1;
    for (size_t i = 0; i < threads; i++) {
        parts[i].index = i;
        if (pthread_create(&ids[i], NULL, work, &parts[i]))
            return 1;
    }
    double total = 0;
    for (size_t i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        total += parts[i].bytes_per_second;
    }
    /* What was computed is looked at, so that none of it can be left out. */
    for (size_t i = 0; i < elements / threads * threads; i += 997)
        if (a[i] != 7.0)
            return 1;
    printf("%.0f\n", total);
    return 0;
}
