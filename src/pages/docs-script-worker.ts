import { parentPort } from 'node:worker_threads'
import { gzipSync } from 'node:zlib'
import plugin from '@scalar/fastify-api-reference'

/**
 * Loads Scalar's browser script, compresses it and sends it to the parent thread. The package contains the script (over
 * 4 MB) as a string inside its module and only serves it through the route handler of a Fastify plugin, so the plugin
 * is registered on a stub that records its routes. This runs in a thread, because reading the module and compressing
 * take almost a second, and because the thread's memory is released when it exits.
 */

interface PluginRoute {
  readonly url: string
  readonly handler: (request: unknown, reply: unknown) => unknown
}

const routes: PluginRoute[] = []
const fastify = {
  log: { warn: () => undefined },
  initialConfig: {},
  hasPlugin: () => false,
  route: (route: PluginRoute) => void routes.push(route),
}
const register = plugin as unknown as (instance: unknown, options: object, next: () => void) => void
register(fastify, { routePrefix: '/docs', configuration: { url: '/api/openapi.json' } }, () => undefined)

let script: unknown
const reply = {
  header: () => reply,
  send: (content: unknown) => {
    script = content
    return reply
  },
}
routes.find((route) => route.url.endsWith('js/scalar.js'))?.handler({}, reply)
if (typeof script !== 'string') throw new Error('@scalar/fastify-api-reference no longer serves js/scalar.js')

parentPort?.postMessage(gzipSync(script, { level: 6 }))
