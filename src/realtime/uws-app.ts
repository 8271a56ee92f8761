/** The parts of the uWebSockets.js application that are changed here. `src/http` owns the application. */
interface SocketBehavior {
  message?: (socket: unknown, message: ArrayBuffer, isBinary: boolean) => void
  upgrade?: Handler
  closeOnBackpressureLimit?: boolean
}

/** The methods used of a uWebSockets.js response. */
interface Response {
  writeStatus(status: string): Response
  writeHeader(name: string, value: string): Response
  end(...parameters: unknown[]): Response
}

type Handler = (response: Response, ...rest: unknown[]) => void

type Method = (...parameters: unknown[]) => unknown

/**
 * Wraps the application to correct the behavior of engine.io 6.6:
 *
 * - Binary messages are copied. They are memory of uWS, which reclaims it when the callback returns, and engine.io
 *   passes them on uncopied (socketio/engine.io#5331).
 * - Without `polling`, the path only serves WebSockets.
 * - Replies get `X-Content-Type-Options: nosniff`, like all others of this server.
 * - A socket closes when `maxBackpressure` is exceeded, instead of silently dropping messages. Its client then
 *   reconnects and requests what it missed.
 * - `onRequest` is called before each request of engine.io is handled.
 */
export function appForEngine<A extends object>(
  app: A,
  { onRequest, polling }: { readonly polling: boolean; readonly onRequest: (response: object) => void },
): A {
  const proxy: A = new Proxy(app, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key, target)
      if (typeof value !== 'function') return value
      return (...parameters: unknown[]) => {
        if (key === 'any' && !polling) return proxy
        const amended = amendRoute(key, parameters, onRequest)
        const result = (value as Method).apply(target, amended)
        // Methods can be chained, so the next call must go through the proxy as well.
        return result === target ? proxy : result
      }
    },
  })
  return proxy
}

function amendRoute(
  key: string | symbol,
  [pattern, handler]: unknown[],
  onRequest: (response: object) => void,
): unknown[] {
  if (key === 'ws') return [pattern, amend(handler as SocketBehavior, onRequest)]
  return key === 'any' ? [pattern, withoutSniffing(handler as Handler, onRequest)] : [pattern, handler]
}

function amend(behavior: SocketBehavior, onRequest: (response: object) => void): SocketBehavior {
  const { message, upgrade } = behavior
  return {
    ...behavior,
    closeOnBackpressureLimit: true,
    ...(upgrade && { upgrade: withoutSniffing(upgrade, onRequest) }),
    ...(message && {
      message: (socket: unknown, data: ArrayBuffer, isBinary: boolean) =>
        message(socket, isBinary ? data.slice(0) : data, isBinary),
    }),
  }
}

/** Adds the header along with the status. engine.io writes replies in many places, each with at most one status. */
function withoutSniffing(handler: Handler, onRequest: (response: object) => void): Handler {
  return (response, ...rest) => {
    onRequest(response)
    const end = response.end.bind(response)
    const writeStatus = response.writeStatus.bind(response)
    let hasHeader = false
    const addHeader = () => {
      hasHeader = true
      return response.writeHeader('X-Content-Type-Options', 'nosniff')
    }
    response.writeStatus = (status) => {
      writeStatus(status)
      return addHeader()
    }
    response.end = (...parameters) => {
      // A reply without a status is 200.
      if (!hasHeader) addHeader()
      return end(...parameters)
    }
    handler(response, ...rest)
  }
}
