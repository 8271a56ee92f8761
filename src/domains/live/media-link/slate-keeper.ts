import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { DesiredStream } from '../../../../media/types.ts'
import { MINUTE, type Clock } from '../../../core/clock.ts'
import type { Logger } from '../../../core/log.ts'
import type { DesiredState } from './desired-states.ts'

export interface SlateKeeperOptions {
  readonly clock: Clock
  readonly log: Logger
  /** Folder for pictures; empty when the node started. */
  readonly scratch: string
  /** Draws the picture of a file of the storage anew and leaves it at a path. */
  readonly draw: (key: string, path: string) => Promise<void>
  /** Makes the media process hold what a stream ought to be now. */
  readonly refresh: (streamId: string) => void
}

/** A picture for slates: drawn, being drawn (undefined), or not to be had. */
interface Picture {
  readonly streams: Set<string>
  readonly path: string
  isDrawn: boolean | undefined
  /** Monotonic: when drawing it failed. */
  failedAt: number
}

/**
 * Brings slates their pictures: drawn anew by media work, because what users sent is nothing for the media process to
 * open. What is not drawn yet is no slate; what cannot be drawn is the card.
 */
export class SlateKeeper {
  readonly #options: SlateKeeperOptions
  /** By key in the storage. */
  readonly #pictures = new Map<string, Picture>()
  #drawn = 0

  constructor(options: SlateKeeperOptions) {
    this.#options = options
  }

  /** Lets the picture of a stream be drawn, if it needs one; nobody waits for it. */
  prepare({ slate, stream: { streamId } }: DesiredState): void {
    const key = slate?.key ?? null
    this.forget(streamId, key)
    if (key === null) return
    const picture = this.#pictures.get(key) ?? this.#begin(key)
    picture.streams.add(streamId)
    const { clock } = this.#options
    if (picture.isDrawn === false && clock.monotonic() - picture.failedAt >= MINUTE) void this.#draw(key, picture)
  }

  /** The state of a stream as the media process is to hold it. */
  complete({ slate }: DesiredState, stream: DesiredStream): DesiredStream {
    if (slate === undefined) return stream
    if (slate.key === null) return { ...stream, slate: {} }
    const picture = this.#pictures.get(slate.key)
    if (picture?.isDrawn === undefined) return stream
    return { ...stream, slate: picture.isDrawn ? { picture: picture.path } : {} }
  }

  /** Removes the picture of a stream that no other one shows. @param except the key that it goes on with */
  forget(streamId: string, except: string | null = null): void {
    for (const [key, { path, streams }] of this.#pictures) {
      if (key === except || !streams.delete(streamId) || streams.size > 0) continue
      this.#pictures.delete(key)
      rm(path, { force: true }).catch((error: unknown) => this.#options.log.warn({ error }, 'a picture was left'))
    }
  }

  #begin(key: string): Picture {
    const path = join(this.#options.scratch, `slate-${this.#drawn++}.webp`)
    const picture: Picture = { streams: new Set(), path, isDrawn: undefined, failedAt: 0 }
    this.#pictures.set(key, picture)
    void this.#draw(key, picture)
    return picture
  }

  async #draw(key: string, picture: Picture): Promise<void> {
    const { clock, draw, log, refresh } = this.#options
    // Not again before this try is over.
    picture.failedAt = Number.POSITIVE_INFINITY
    try {
      await draw(key, picture.path)
      picture.isDrawn = true
    } catch (error) {
      log.warn({ error }, 'the picture of a slate cannot be drawn; the card is shown')
      picture.isDrawn = false
      picture.failedAt = clock.monotonic()
    }
    if (this.#pictures.get(key) === picture) for (const streamId of picture.streams) refresh(streamId)
    else await rm(picture.path, { force: true })
  }
}
