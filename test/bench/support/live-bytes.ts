/** The bytes of live objects and buffers of a Node program with an open inspector, after a full garbage collection. */
export async function liveBytes(inspectorPort: number): Promise<number> {
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
    const expression = '(({ heapUsed, external }) => heapUsed + external)(process.memoryUsage())'
    const { result } = (await ask('Runtime.evaluate', { expression, returnByValue: true })) as {
      result: { value: number }
    }
    return result.value
  } finally {
    socket.close()
  }
}
