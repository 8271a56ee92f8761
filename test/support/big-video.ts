import { open, readFile, stat } from 'node:fs/promises'
import { runFfmpeg } from '../../media/testing/ffmpeg.ts'

/**
 * Writes a real video of exactly `bytes`: a few seconds of H.264 and AAC, a box that players skip, and the index at the
 * end. A player must request the end first.
 */
export async function makeBigVideo(file: string, bytes: number, seconds: number): Promise<void> {
  const picture = ['-f', 'lavfi', '-i', `testsrc=size=640x360:rate=25:duration=${seconds}`]
  const tone = ['-f', 'lavfi', '-i', `sine=frequency=440:duration=${seconds}`]
  const coded = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-c:a', 'aac', '-f', 'mp4']
  await runFfmpeg(...picture, ...tone, ...coded, file)
  const content = await readFile(file)
  const index = content.lastIndexOf('moov') - 4
  const free = Buffer.alloc(8)
  free.writeUInt32BE(bytes - content.length)
  free.write('free', 4)
  await using handle = await open(file, 'r+')
  await handle.write(free, 0, 8, index)
  await handle.write(content, index, content.length - index, index + bytes - content.length)
  // The file is sparse between the two.
  const hole = Buffer.alloc(content.length - index)
  await handle.write(hole, 0, Math.min(hole.length, bytes - content.length - 8), index + 8)
  if ((await stat(file)).size !== bytes) throw new Error('the video has the wrong size')
}
