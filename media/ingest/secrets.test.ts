import { createHash } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { newKey } from '../testing/ingest-fixture.ts'
import { startIngestProcess } from '../testing/ingest-process.ts'
import { aacHeader, avcFrame, avcHeader } from '../testing/media-payloads.ts'
import { TestPublisher } from '../testing/publisher.ts'

const secretOf = (key: string): string => key.split('-')[1]!

test('no key is logged, printed, stored or kept in memory', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'crier-ingest-'))
  const server = await startIngestProcess(folder)
  const open: TestPublisher[] = []
  const connect = async (app = 'live'): Promise<TestPublisher> => {
    const publisher = await TestPublisher.connect({ port: server.port, app })
    open.push(publisher)
    return publisher
  }
  try {
    const keys = Array.from({ length: 6 }, () => newKey())
    const [live, refused, asApp, malformed, replaced, ended] = keys as [string, string, string, string, string, string]
    const publisher = await connect()
    publisher.command('releaseStream', 2, null, live)
    publisher.command('FCPublish', 3, null, live)
    await publisher.publish(`${live}?key=${live}`)
    publisher.video(0, avcHeader())
    publisher.audio(0, aacHeader())
    publisher.video(0, avcFrame(true))
    const unknown = await connect()
    await unknown.publish(refused.replace(/^.*-/, 'refused12345-'))
    await connect(`live/${asApp}`)
    const withUrl = await connect()
    await withUrl.publish(`rtmp://host/live/${malformed}/`)
    await (await connect()).publish(replaced)
    await (await connect()).publish(replaced)
    const finished = await connect()
    await finished.publish(ended)
    finished.command('FCUnpublish', 6, null, ended)
    await finished.closed

    const state = await server.ask<{ context: string; lines: string[] }>({ ask: 'context' })
    const reversed = keys.map((key) => [...Buffer.from(secretOf(key))].toReversed())
    const inHeap = await server.ask<boolean[]>({ ask: 'heap', reversed })
    const everything = [state.context, ...state.lines, server.output()].join('\n')
    for (const key of keys) {
      expect(everything).not.toContain(secretOf(key))
      expect(everything).not.toContain(Buffer.from(secretOf(key)).toString('hex'))
    }
    // The public path shows that the searches work.
    expect(state.context).toContain(live.split('-')[0])
    expect(state.lines.join('\n')).toContain(live.split('-')[0])
    const hash = createHash('sha256').update(live).digest('hex')
    const present = await server.ask<boolean[]>({ ask: 'heap', reversed: [[...Buffer.from(hash)].toReversed()] })
    expect(present).toEqual([true])
    expect(inHeap).toEqual(keys.map(() => false))
    expect(server.output()).toBe('')
    // node-media-server would have created ./data.
    expect(await readdir(folder)).toEqual([])
  } finally {
    for (const publisher of open) publisher.close()
    server.stop()
    await rm(folder, { recursive: true })
  }
})
