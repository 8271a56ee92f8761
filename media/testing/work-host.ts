/** A process with media work that a test kills: `node work-host.ts <temp folder> <input> <output>`. */
import { startMediaWork } from '../work/media-work.ts'
import { findFfmpeg } from './ffmpeg.ts'

const [, , tempDir = '', input = '', output = ''] = process.argv
const nothing = (): void => {}
const log = { debug: nothing, info: nothing, warn: nothing, error: nothing }
const ffmpegPath = findFfmpeg()
const work = startMediaWork({ ffmpegPath, ffprobePath: 'ffprobe', tempDir, niceness: 0, log })
await work.transcode(input, output, { kind: 'video', loudness: null })
