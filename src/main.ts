import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'

// V8 allocates objects in the old generation if earlier objects of the same literal lived long. Under load some rows of
// a query survive each young collection, so V8 pretenures all rows. Dead rows in the old generation then keep their
// young values alive. This costs a seventh of the CPU time of a list request, and 100 MB.
setFlagsFromString('--no-allocation-site-pretenuring')

// Compiling the sources takes most of a warm start, so Node caches the compiled code for the next start. If the folder
// is not writable, Node does not use the cache.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/node-compile', import.meta.url)))

await import('./server/run.ts')
