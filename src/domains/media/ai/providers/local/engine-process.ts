import type { EngineReply, EngineTask } from './engine.ts'

/** Runs in a separate process: recognizes one piece of sound, replies, and ends. */

/** What is used of the engine. Times are in milliseconds. */
interface Engine {
  initWhisper(options: { readonly filePath: string; readonly useGpu: boolean }): Promise<{
    transcribeFile(
      path: string,
      options: { readonly language: string; readonly maxThreads: number },
    ): {
      readonly promise: Promise<{
        readonly language?: string
        readonly segments: readonly { readonly text: string; readonly t0: number; readonly t1: number }[]
      }>
    }
    release(): Promise<void>
  }>
}

process.once('message', (task) => {
  void recognize(task as EngineTask)
    .catch((error: unknown): EngineReply => ({ fault: error instanceof Error ? error.message : String(error) }))
    .then((reply) => process.send?.(reply, () => process.exit(0)))
})
process.once('disconnect', () => process.exit(1))

async function recognize({ engine, language, model, path, threads }: EngineTask): Promise<EngineReply> {
  const found = (await import(engine)) as Engine
  const context = await found.initWhisper({ filePath: model, useGpu: false })
  const options = { language: language ?? 'auto', maxThreads: threads }
  const heard = await context.transcribeFile(path, options).promise
  return {
    language: heard.language ?? language,
    segments: heard.segments.map(({ t0, t1, text }) => ({ start: t0 / 1_000, end: t1 / 1_000, text: text.trim() })),
  }
}
