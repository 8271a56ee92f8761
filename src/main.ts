import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'

// V8 learns which literals make objects that live long, and makes them old from birth. Under load a row or two of a
// query is alive whenever the young are collected: it learns that rows live long, and from then on dead old rows keep
// the young values they hold from being collected, which costs a seventh of the CPU of a list and 100 MB.
setFlagsFromString('--no-allocation-site-pretenuring')

// Compiling the sources is most of a warm start; what Node keeps of it is read back by the next one. Where the folder
// cannot be written nothing is kept and nothing fails.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/node-compile', import.meta.url)))

await import('./server/run.ts')
