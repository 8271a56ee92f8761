import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { DesiredStream } from '../../../../media/types.ts'
import { MINUTE } from '../../../core/clock.ts'
import type { Foundation } from '../../../foundation.ts'
import type { DesiredState } from './desired-states.ts'

type Dependencies = Pick<Foundation, 'clock' | 'log' | 'scratch'> & {
  /** Redraws a picture of the storage to a local path. */
  readonly draw: (key: string, path: string) => Promise<void>
  /** Applies the desired state of a stream to the media process. */
  readonly refresh: (streamId: string) => void
}

/** A picture for slates. `isDrawn` is undefined while it is being drawn. */
interface Picture {
  readonly streams: Set<string>
  readonly path: string
  isDrawn: boolean | undefined
  /** Monotonic time of the last failure. */
  failedAt: number
}

/**
 * Prepares the pictures of slates. Media work redraws them, because the media process must not open files of users.
 * Without a drawn picture there is no slate yet. If drawing fails, the card is shown.
 */
export class NodeSlates {
  readonly #dependencies: Dependencies
  /** Pictures by their key in the storage. */
  readonly #pictures = new Map<string, Picture>()
  #drawn = 0

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** Starts drawing the picture of a stream if it needs one. */
  prepare({ slate, stream: { streamId } }: DesiredState): void {
    const key = slate?.key ?? null
    this.forget(streamId, key)
    if (key === null) return
    const picture = this.#pictures.get(key) ?? this.#begin(key)
    picture.streams.add(streamId)
    const { clock } = this.#dependencies
    if (picture.isDrawn === false && clock.monotonic() - picture.failedAt >= MINUTE) void this.#draw(key, picture)
  }

  /** The desired state with the slate. */
  complete({ slate }: DesiredState, stream: DesiredStream): DesiredStream {
    if (slate === undefined) return stream
    if (slate.key === null) return { ...stream, slate: {} }
    const picture = this.#pictures.get(slate.key)
    if (picture?.isDrawn === undefined) return stream
    return { ...stream, slate: picture.isDrawn ? { picture: picture.path } : {} }
  }

  /** Removes the picture of a stream unless another stream shows it. @param except a key to keep */
  forget(streamId: string, except: string | null = null): void {
    for (const [key, { path, streams }] of this.#pictures) {
      if (key === except || !streams.delete(streamId) || streams.size > 0) continue
      this.#pictures.delete(key)
      rm(path, { force: true }).catch((error: unknown) =>
        this.#dependencies.log.warn({ error }, 'a temporary picture could not be deleted'),
      )
    }
  }

  #begin(key: string): Picture {
    const path = join(this.#dependencies.scratch, `slate-${this.#drawn++}.webp`)
    const picture: Picture = { streams: new Set(), path, isDrawn: undefined, failedAt: 0 }
    this.#pictures.set(key, picture)
    void this.#draw(key, picture)
    return picture
  }

  async #draw(key: string, picture: Picture): Promise<void> {
    const { clock, draw, log, refresh } = this.#dependencies
    // Prevents another try while this one runs.
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
