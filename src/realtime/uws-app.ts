/** The parts of a uWebSockets.js application that are changed here; `src/http` owns the real one. */
interface SocketBehavior {
  message?: (socket: unknown, message: ArrayBuffer, isBinary: boolean) => void
  closeOnBackpressureLimit?: boolean
}

type Method = (...parameters: unknown[]) => unknown

/**
 * The application as engine.io 6.6 should have it. Amended are:
 *
 * - A binary message is uWS's own memory, taken back when the callback returns; engine.io passes it on uncopied
 *   (socketio/engine.io#5331), and listeners would see zero bytes.
 * - With `polling` off the path is served to WebSockets alone.
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
        const amended = key === 'ws' ? [parameters[0], amend(parameters[1] as SocketBehavior)] : parameters
        const result = (value as Method).apply(target, amended)
        // Methods chain: the next one must come through here too.
        return result === target ? proxy : result
      }
    },
  })
  return proxy
}

function amend(behavior: SocketBehavior): SocketBehavior {
  const { message } = behavior
  return {
    ...behavior,
    closeOnBackpressureLimit: true,
    ...(message && {
      message: (socket: unknown, data: ArrayBuffer, isBinary: boolean) =>
        message(socket, isBinary ? data.slice(0) : data, isBinary),
    }),
  }
}
