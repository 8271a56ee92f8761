/** What is alive in a process, in bytes. */
export interface LiveBytes {
  /** Objects and buffers. */
  readonly data: number
  /** What V8 has compiled: bytecode and machine code, which grow as it optimizes more functions. */
  readonly code: number
}

/** V8 keeps bytecode in its trusted spaces and machine code in its code spaces. */
const EXPRESSION = `(() => {
  const { heapUsed, external } = process.memoryUsage()
  const spaces = process.getBuiltinModule('node:v8').getHeapSpaceStatistics()
  const compiled = spaces.filter(({ space_name }) => /^(code|trusted)_/.test(space_name))
  const code = compiled.reduce((sum, { space_used_size }) => sum + space_used_size, 0)
  return { data: heapUsed + external - code, code }
})()`

/** What is alive in a Node program with an open inspector, after a full garbage collection. */
export async function liveBytes(inspectorPort: number): Promise<LiveBytes> {
  const targets = (await (await fetch(`http://127.0.0.1:${inspectorPort}/json/list`)).json()) as {
    webSocketDebuggerUrl: string
  }[]
  const socket = new WebSocket(String(targets[0]?.webSocketDebuggerUrl))
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve, { once: true })
    socket.addEventListener('error', reject, { once: true })
  })
  const ask = (method: string, params: object = {}): Promise<unknown> =>
    new Promise((resolve) => {
      const onMessage = ({ data }: MessageEvent) => resolve((JSON.parse(String(data)) as { result: unknown }).result)
      socket.addEventListener('message', onMessage, { once: true })
      socket.send(JSON.stringify({ id: 1, method, params }))
    })
  try {
    // The second collection frees what finalizers of the first released.
    for (let times = 0; times < 2; times += 1) await ask('HeapProfiler.collectGarbage')
    const { result } = (await ask('Runtime.evaluate', { expression: EXPRESSION, returnByValue: true })) as {
      result: { value: LiveBytes }
    }
    return result.value
  } finally {
    socket.close()
  }
}
