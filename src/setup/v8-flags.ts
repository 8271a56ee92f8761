import { setFlagsFromString } from 'node:v8'

/** Settings of V8 for a server. Import this first. */

// V8 allocates objects in the old generation if earlier objects of the same literal lived long. Under load some rows of
// a query survive each young collection, so V8 pretenures all rows. Dead rows in the old generation then keep their
// young values alive. This costs a seventh of the CPU time of a list request, and 100 MB.
setFlagsFromString('--no-allocation-site-pretenuring')

// V8 collects the whole heap when 64 MB of buffers have been allocated since the last time, however small or large the
// heap is. Ten uploads at once kept it collecting without a pause, and other requests waited 700 ms. With this, buffers
// count as a part of the heap, whose limit grows with what is in use.
setFlagsFromString('--external-memory-accounted-in-global-limit')
