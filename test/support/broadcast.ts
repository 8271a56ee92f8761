import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { Feed } from '../../media/testing/feed.ts'
import { TestPublisher } from '../../media/testing/publisher.ts'
import type { Sink } from '../../media/testing/sink.ts'
import type { App } from './app.ts'
import { waitFor } from './wait.ts'
import type { ApiCaller } from './world.ts'

/** The fields of a stream that tests read. */
export interface SeenStream {
  readonly _id: string
  readonly status: string
  readonly endReason: string | null
  readonly streamKey: string
  readonly backupStreamKey: string
  readonly version: number
  readonly platforms: readonly {
    readonly _id: string
    readonly status: string
    readonly name: string
    readonly lastError: { code: string; message: string } | null
  }[]
}

/** Controls live streams of a workspace as a user would, through the API. */
export class Broadcaster {
  readonly #app: App
  readonly #caller: ApiCaller
  readonly #workspaceId: string
  readonly #open: { close(): void }[] = []

  constructor(app: App, caller: ApiCaller, workspaceId: string) {
    this.#app = app
    this.#caller = caller
    this.#workspaceId = workspaceId
  }

  /** @returns the destination's id */
  async destination(name: string, port: number, streamKey = `key-for-${name}`): Promise<string> {
    const body = { workspaceId: this.#workspaceId, name, url: `rtmp://127.0.0.1:${port}/live`, streamKey }
    return (await this.call<{ _id: string }>('POST /api/streams/rtmp-destinations', { body }))._id
  }

  /** Uploads a file to the media library and waits until it is inspected. @returns the id of the asset */
  async upload(path: string): Promise<string> {
    const name = basename(path)
    const file = { name, content: new Uint8Array(await readFile(path)) }
    const body = { workspaceId: this.#workspaceId }
    const { _id: id } = await this.call<{ _id: string }>('POST /api/assets/upload', { body, file })
    const isInspected = async () => {
      const asset = await this.call<{ thumbnail: { status: string } }>('GET /api/assets/{id}', { path: { id } })
      return asset.thumbnail.status !== 'pending'
    }
    await waitFor(isInspected, { timeoutMs: 120_000, what: `${name} to be inspected` })
    return id
  }

  /** Creates a stream with these sinks as destinations, by name. */
  async stream(sinks: Readonly<Record<string, Sink>>): Promise<SeenStream> {
    const platforms: { platform: string; accountId: string }[] = []
    for (const [name, sink] of Object.entries(sinks)) {
      platforms.push({ platform: 'custom', accountId: await this.destination(name, sink.port) })
    }
    return this.call('POST /api/streams', { body: { workspaceId: this.#workspaceId, title: 'Launch', platforms } })
  }

  get(id: string): Promise<SeenStream> {
    return this.call('GET /api/streams/{id}', { path: { id } })
  }

  goLive(id: string, body: object = {}): Promise<SeenStream> {
    return this.call('POST /api/streams/{id}/go-live', { path: { id }, body })
  }

  stop(id: string): Promise<SeenStream> {
    return this.call('POST /api/streams/{id}/stop', { path: { id } })
  }

  /** Waits until the stream has a status. */
  until(id: string, status: string): Promise<SeenStream> {
    const wanted = async () => {
      const stream = await this.get(id)
      return stream.status === status ? stream : undefined
    }
    return waitFor(wanted, { what: `the stream to be ${status}` })
  }

  /** Waits until a destination of the stream has a status. */
  untilDestination(id: string, name: string, status: string): Promise<SeenStream> {
    const wanted = async () => {
      const stream = await this.get(id)
      return stream.platforms.find((platform) => platform.name === name)?.status === status ? stream : undefined
    }
    return waitFor(wanted, { what: `${name} to be ${status}` })
  }

  /** Starts a publisher that sends media until it is closed. */
  async publish(key: string): Promise<{ readonly publisher: TestPublisher; readonly feed: Feed }> {
    const publisher = await TestPublisher.connect({ port: this.#app.config.RTMP_PORT })
    this.#open.push(publisher)
    const status = await publisher.publish(key)
    if (status?.code !== 'NetStream.Publish.Start') throw new Error(`refused: ${status?.description}`)
    publisher.setChunkSize(65_536)
    const feed = new Feed(publisher).start()
    this.#open.push({ close: () => feed.stop() })
    return { publisher, feed }
  }

  /** The reason for which a publisher with this key is rejected; empty when it is accepted. */
  async refusal(key: string): Promise<string> {
    const publisher = await TestPublisher.connect({ port: this.#app.config.RTMP_PORT })
    const status = await publisher.publish(key)
    publisher.close()
    return status?.code === 'NetStream.Publish.Start' ? '' : (status?.description ?? 'closed without a word')
  }

  /** Calls the API. @returns the data of the reply. @throws Error when the call fails */
  async call<T>(route: string, options: Parameters<ApiCaller['call']>[1]): Promise<T> {
    const reply = await this.#caller.call(route, options)
    if (reply.status >= 300) throw new Error(`${route} returned ${reply.status}: ${reply.text}`)
    return (reply.body as { data: T }).data
  }

  /** Ends the publishers. */
  close(): void {
    for (const one of this.#open.splice(0)) one.close()
  }
}
