import { join } from 'node:path'
import { runFfmpeg } from '../../../media/testing/ffmpeg.ts'
import type { MediaWork } from '../../../media/work/types.ts'
import { median } from '../support/process.ts'

/** Creates a 720p25 video with audio. */
export async function makeVideo(file: string, seconds: number): Promise<void> {
  const video = ['-f', 'lavfi', '-i', `testsrc2=size=1280x720:rate=25:duration=${seconds}`]
  const audio = ['-f', 'lavfi', '-i', `anoisesrc=color=pink:amplitude=0.1:duration=${seconds}`]
  const encoding = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-c:a', 'aac', '-f', 'mp4']
  await runFfmpeg(...video, ...audio, ...encoding, file)
}

export interface TranscodeFigures {
  readonly oursSeconds: number
  readonly bareSeconds: number
  /** The median of the rounds' ratios. */
  readonly ratio: number
}

/** Times the same encoding as a media job and as a bare ffmpeg command. The file was inspected before. */
export async function compareTranscodes(
  work: MediaWork,
  { video, folder, rounds }: { video: string; folder: string; rounds: number },
): Promise<TranscodeFigures> {
  const scaling = '-map 0:V:0 -vf scale=trunc(iw*sar):ih,setsar=1,scale=1280:720:flags=bicubic,setsar=1'
  const encoding =
    '-c:v libx264 -preset veryfast -crf 21 -maxrate 20000k -bufsize 20000k -profile:v high -pix_fmt yuv420p -g 50'
  const audio = '-map 0:a:0 -c:a aac -b:a 128k -ac 2 -ar 48000'
  const bare = [scaling, encoding, audio, '-movflags +faststart -f mp4'].join(' ').split(' ')
  const probed = await work.probe(video)
  const rows: { ours: number; bare: number }[] = []
  for (let round = -1; round < rounds; round += 1) {
    const spec = { kind: 'video', loudness: null } as const
    const ours = await timed(() => work.transcode(video, join(folder, 'ours'), spec, { probed }))
    const theirs = await timed(() => runFfmpeg('-i', video, ...bare, join(folder, 'bare')))
    // The first round warms up.
    if (round >= 0) rows.push({ ours, bare: theirs })
  }
  return {
    oursSeconds: median(rows.map(({ ours }) => ours)),
    bareSeconds: median(rows.map((row) => row.bare)),
    ratio: median(rows.map((row) => row.ours / row.bare)),
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return (performance.now() - started) / 1000
}
