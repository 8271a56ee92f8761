/** The parts of a uWebSockets.js application that are changed here; `src/http` owns the real one. */
interface SocketBehavior {
  message?: (socket: unknown, message: ArrayBuffer, isBinary: boolean) => void
  upgrade?: Handler
  closeOnBackpressureLimit?: boolean
}

/** What is used of a response of uWebSockets.js. */
interface Response {
  writeStatus(status: string): Response
  writeHeader(name: string, value: string): Response
  end(...parameters: unknown[]): Response
}

type Handler = (response: Response, ...rest: unknown[]) => void

type Method = (...parameters: unknown[]) => unknown

/**
 * The application as engine.io 6.6 should have it. Amended are:
 *
 * - A binary message is uWS's own memory, taken back when the callback returns; engine.io passes it on uncopied
 *   (socketio/engine.io#5331), and listeners would see zero bytes.
 * - With `polling` off the path is served to WebSockets alone.
 * - Its replies, like all others of this server, say that nobody may guess what they are.
 * - What a reader that stalls does not take is thrown away silently beyond `maxBackpressure`; now the socket closes,
 *   and its client comes back and asks for what it missed.
 */
export function appForEngine<A extends object>(app: A, { polling }: { readonly polling: boolean }): A {
  const proxy: A = new Proxy(app, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key, target)
      if (typeof value !== 'function') return value
      return (...parameters: unknown[]) => {
        if (key === 'any' && !polling) return proxy
        const amended = amendRoute(key, parameters)
        const result = (value as Method).apply(target, amended)
        // Methods chain: the next one must come through here too.
        return result === target ? proxy : result
      }
    },
  })
  return proxy
}

function amendRoute(key: string | symbol, [pattern, handler]: unknown[]): unknown[] {
  if (key === 'ws') return [pattern, amend(handler as SocketBehavior)]
  return key === 'any' ? [pattern, withoutSniffing(handler as Handler)] : [pattern, handler]
}

function amend(behavior: SocketBehavior): SocketBehavior {
  const { message, upgrade } = behavior
  return {
    ...behavior,
    closeOnBackpressureLimit: true,
    ...(upgrade && { upgrade: withoutSniffing(upgrade) }),
    ...(message && {
      message: (socket: unknown, data: ArrayBuffer, isBinary: boolean) =>
        message(socket, isBinary ? data.slice(0) : data, isBinary),
    }),
  }
}

/** engine.io writes its replies in many places: the header goes with the status, which every reply writes at most once. */
function withoutSniffing(handler: Handler): Handler {
  return (response, ...rest) => {
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
