import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { TestPublisher } from '../../../media/testing/publisher.ts'
import { ffmpeg, runFfmpeg } from '../../support/rtmp-servers.ts'
import { monotonicMs } from './monotonic.ts'

/** An ingest point: `rtmp://127.0.0.1:<port>/<app>/<key>`. */
export interface Ingest {
  readonly port: number
  readonly app: string
  readonly key: string
}

/** Writes 720p30 H.264 at a constant 5 Mb/s, a keyframe every 2 s, and AAC at 128 kb/s. */
export async function makeBenchSource(file: string, seconds: number): Promise<void> {
  const picture = ['-f', 'lavfi', '-i', 'testsrc2=size=1280x720:rate=30']
  const tone = ['-f', 'lavfi', '-i', 'anoisesrc=color=pink:sample_rate=48000']
  // Noise that the encoder cannot predict, so that the bit rate is real and not padding.
  const noisy = ['-vf', 'noise=alls=24:allf=t', '-pix_fmt', 'yuv420p']
  const rate = ['-b:v', '5M', '-minrate', '5M', '-maxrate', '5M', '-bufsize', '5M', '-g', '60', '-sc_threshold', '0']
  const video = [...noisy, '-c:v', 'libx264', '-preset', 'ultrafast', ...rate]
  const audio = ['-c:a', 'aac', '-b:a', '128k', '-ac', '2']
  const length = ['-t', String(seconds)]
  await runFfmpeg(['-loglevel', 'error', ...picture, ...tone, ...length, ...video, ...audio, '-y', '-f', 'flv', file])
}

/** Publishes a file with ffmpeg in real time, in a loop. */
export function pushForever(file: string, { port, app, key }: Ingest): ChildProcess {
  const loop = ['-re', '-stream_loop', '-1', '-i', file, '-c', 'copy', '-f', 'flv', '-flvflags', 'no_duration_filesize']
  return ffmpeg(['-loglevel', 'fatal', ...loop, `rtmp://127.0.0.1:${port}/${app}/${key}`])
}

interface Tag {
  readonly type: number
  readonly timestamp: number
  readonly payload: Buffer
}

/** The audio and video tags of an FLV file (Adobe FLV 10.1, annex E.4.1). */
export function readTags(file: string): Tag[] {
  const bytes = readFileSync(file)
  const tags: Tag[] = []
  for (let offset = 13; offset < bytes.length;) {
    const type = bytes.readUInt8(offset)
    const length = bytes.readUIntBE(offset + 1, 3)
    const timestamp = bytes.readUIntBE(offset + 4, 3) + bytes.readUInt8(offset + 7) * 0x100_0000
    const payload = bytes.subarray(offset + 11, offset + 11 + length)
    if (type === 8 || type === 9) tags.push({ type, timestamp, payload })
    offset += 11 + length + 4
  }
  return tags
}

export interface SentFrame {
  readonly type: number
  /** The time just before the frame was written to the socket, as {@link monotonicMs}. */
  readonly at: number
}

/** Publishes tags in real time, stamps each frame with a unique number, and records when it was sent. */
export class PacedPublisher {
  /** Sent frames by CRC-32 of the message body. */
  readonly sent = new Map<number, SentFrame>()
  readonly #publisher: TestPublisher
  readonly #tags: readonly Tag[]
  readonly #startedAt = monotonicMs()
  readonly #timer: NodeJS.Timeout
  #next = 0
  #laps = 0

  private constructor(publisher: TestPublisher, tags: readonly Tag[]) {
    this.#publisher = publisher
    this.#tags = tags
    publisher.setChunkSize(4096)
    publisher.metadata({ width: 1280, height: 720, framerate: 30, videocodecid: 7, audiocodecid: 10 })
    this.#timer = setInterval(() => this.#catchUp(), 5)
    this.#catchUp()
  }

  static async start({ port, app, key }: Ingest, tags: readonly Tag[]): Promise<PacedPublisher> {
    const publisher = await TestPublisher.connect({ port, app })
    const status = await publisher.publish(key)
    if (status?.code !== 'NetStream.Publish.Start') throw new Error(`not admitted: ${status?.description}`)
    return new PacedPublisher(publisher, tags)
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#publisher.close()
  }

  #catchUp(): void {
    const lap = this.#tags.at(-1)!.timestamp + 33
    for (;;) {
      const tag = this.#tags[this.#next]!
      const timestamp = tag.timestamp + this.#laps * lap
      if (monotonicMs() - this.#startedAt < timestamp) return
      this.#send(tag, timestamp)
      this.#next += 1
      if (this.#next < this.#tags.length) continue
      this.#next = 0
      this.#laps += 1
    }
  }

  #send({ type, payload }: Tag, timestamp: number): void {
    const isConfiguration = payload[1] === 0
    if (isConfiguration && this.#laps > 0) return
    const body = Buffer.from(payload)
    if (!isConfiguration) body.writeUInt32BE(this.sent.size, body.length - 4)
    const checksum = crc32(body)
    const at = monotonicMs()
    this.#publisher.send(type, timestamp, body)
    if (!isConfiguration) this.sent.set(checksum, { type, at })
  }
}
