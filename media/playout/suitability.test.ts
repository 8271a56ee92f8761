import { join } from 'node:path'
import { expect, test } from 'vitest'
import { brightnessOf } from '../testing/brightness.ts'
import { writeMatrix } from '../testing/display-matrix.ts'
import { runFfmpeg } from '../testing/ffmpeg.ts'
import { useMediaWork } from '../testing/work-fixture.ts'
import { MovieReader, type Frame } from './movie-reader.ts'
import { judgeFile } from './suitability.ts'

/** Kinds of files that people really have. Each says what is wrong with streaming it as it is, or that nothing is. */

interface Kind {
  /** Sources, when they are not {@link PICTURE} and {@link TONE}. */
  readonly inputs?: readonly string[]
  /** How the file is encoded, after H.264 and AAC. */
  readonly options?: readonly string[]
  /** Arguments of ffmpeg for a second run that copies what was encoded: before the input and after it. */
  readonly copied?: { readonly before?: readonly string[]; readonly after?: readonly string[] }
  /** The display matrix. */
  readonly matrix?: readonly number[]
  /** Why it cannot be streamed as it is, in part; empty when it can be. */
  readonly faults: readonly string[]
}

const PICTURE = ['-f', 'lavfi', '-i', 'testsrc=size=160x90:rate=30:duration=2']
const TONE = ['-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=48000:duration=2']
const H264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-g', '30', '-bf', '2']
const HEVC = ['-c:v', 'libx265', '-tag:v', 'hvc1', '-x265-params', 'log-level=error']
const AAC = ['-c:a', 'aac', '-ac', '2']

const KINDS: Readonly<Record<string, Kind>> = {
  'constant rate, index at the end': { faults: [] },
  'index at the beginning': { options: ['-movflags', '+faststart'], faults: [] },
  fragmented: { copied: { after: ['-movflags', '+frag_keyframe+empty_moov+default_base_moof'] }, faults: [] },
  'rotated by 90°': { matrix: [0, 1, -1, 0], faults: ['turned by 90°'] },
  'rotated by 180°': { matrix: [-1, 0, 0, -1], faults: ['turned by 180°'] },
  'rotated by 270°': { matrix: [0, -1, 1, 0], faults: ['turned by 270°'] },
  mirrored: { matrix: [1, 0, 0, -1], faults: ['mirrored'] },
  'lead-in trimmed by an edit list': {
    copied: { before: ['-ss', '0.7'] },
    faults: ['first 0.7 s of the picture', '0.7 s of the sound'],
  },
  'picture delayed by an edit list': {
    inputs: ['-itsoffset', '0.5', ...PICTURE, ...TONE],
    options: ['-vsync', 'passthrough'],
    faults: [],
  },
  'B-frames with negative decode times': { options: ['-movflags', '+negative_cts_offsets'], faults: [] },
  'open groups of pictures': {
    options: ['-preset', 'veryfast', '-x264-params', 'open-gop=1:scenecut=0:b-adapt=0'],
    faults: ['groups of pictures are open'],
  },
  'variable rate': { options: ['-vf', "select='not(eq(mod(n,5),2))'", '-vsync', 'vfr'], faults: [] },
  '120 pictures a second': {
    inputs: ['-f', 'lavfi', '-i', 'testsrc=size=160x90:rate=120:duration=1', ...TONE, '-t', '1'],
    faults: ['120 pictures a second'],
  },
  interlaced: {
    options: ['-vf', 'scale=160:96,setsar=1', '-flags', '+ilme+ildct', '-x264-params', 'tff=1'],
    faults: ['interlaced'],
  },
  '4:4:4 colour': { options: ['-pix_fmt', 'yuv444p'], faults: ['4:4:4'] },
  '4:2:2 colour': { options: ['-pix_fmt', 'yuv422p'], faults: ['4:2:2'] },
  '10 bits': { options: ['-pix_fmt', 'yuv420p10le'], faults: ['10 bits'] },
  'odd width and height': {
    options: ['-vf', 'scale=161:91', '-pix_fmt', 'yuv444p'],
    faults: ['4:4:4', '161 × 91 pixels'],
  },
  'pixels that are not square': { options: ['-vf', 'setsar=4/3'], faults: ['1.33 times as wide'] },
  'HDR in H.264': {
    options: ['-color_trc', 'arib-std-b67', '-color_primaries', 'bt2020', '-colorspace', 'bt2020nc'],
    faults: ['HDR (HLG)'],
  },
  'HEVC in 10 bits with HDR, as phones write it': {
    options: [
      ...HEVC,
      '-pix_fmt',
      'yuv420p10le',
      '-color_trc',
      'smpte2084',
      '-color_primaries',
      'bt2020',
      '-colorspace',
      'bt2020nc',
    ],
    faults: ['HEVC'],
  },
  '5.1 sound': { options: ['-ac', '6'], faults: ['6 channels (5.1)'] },
  'mono sound of 22 kHz': { options: ['-ac', '1', '-ar', '22050'], faults: ['22050 Hz'] },
  'mono sound of 44.1 kHz': { options: ['-ac', '1', '-ar', '44100'], faults: [] },
  'two sound tracks': { inputs: [...PICTURE, ...TONE, '-map', '0:v', '-map', '1:a', '-map', '1:a'], faults: [] },
  'no sound': { options: ['-an'], faults: ['no sound'] },
  'sound only': { options: ['-vn'], faults: ['no picture'] },
}

const { folder, work } = useMediaWork()

/** Writes the file. @returns its path */
async function make(name: string, { copied, inputs = [...PICTURE, ...TONE], matrix, options = [] }: Kind) {
  const file = join(folder, `${name}.mp4`)
  const encoded = copied === undefined ? file : `${file}.source.mp4`
  await runFfmpeg(...inputs, ...H264, ...AAC, ...options, encoded)
  if (copied !== undefined) {
    await runFfmpeg(...(copied.before ?? []), '-i', encoded, '-c', 'copy', ...(copied.after ?? []), file)
  }
  if (matrix !== undefined) await writeMatrix(file, matrix)
  return file
}

/** What `transcode: auto` makes of a file. */
async function madeOf(file: string): Promise<string> {
  const made = `${file}.live.mp4`
  await work.transcode(file, made, { kind: 'video', preset: 'live', loudness: null })
  return made
}

test.each(Object.entries(KINDS))('%s', async (name, kind) => {
  const { faults } = kind
  const file = await make(name, kind)
  expect((await judgeFile(file)).faults).toEqual(faults.map((part) => expect.stringContaining(part)))
  // What is made of it can be streamed.
  if (faults.length > 0 && name !== 'sound only') expect((await judgeFile(await madeOf(file))).faults).toEqual([])
})

/** Half a picture is white, half is black. */
const halves = (crop: string) => ['-f', 'lavfi', '-i', `color=white:size=160x90:rate=30:duration=1,${crop}`, ...TONE]
const WHITE = 200
const BLACK = 50

test('a rotated file is made upright', async () => {
  const inputs = halves('drawbox=x=80:w=80:h=90:color=black:t=fill')
  const made = await madeOf(await make('half', { inputs, options: ['-t', '1'], matrix: [0, 1, -1, 0], faults: [] }))
  const top = join(folder, 'top.mp4')
  await runFfmpeg('-i', made, '-vf', 'crop=iw:ih/2:0:0', top)
  // The left side, turned clockwise.
  expect(Math.min(...(await brightnessOf(top)))).toBeGreaterThan(WHITE)
})

test('a trimmed lead-in is not in what is made of it', async () => {
  const inputs = halves("drawbox=w=160:h=90:color=black:t=fill:enable='gte(t,0.5)'")
  const copied = { before: ['-ss', '0.5'] }
  const file = await make('lead-in', { inputs, copied, options: ['-t', '1'], faults: [] })
  const brightness = await brightnessOf(await madeOf(file))
  expect(brightness.length).toBeGreaterThan(10)
  expect(Math.max(...brightness)).toBeLessThan(BLACK)
})

test('of an interlaced file each picture is made of one field', async () => {
  const fields =
    "color=white:size=160x96:rate=60:duration=1,drawbox=w=160:h=96:color=black:t=fill:enable='between(mod(n,4),1,2)'"
  const inputs = ['-f', 'lavfi', '-i', `${fields},tinterlace=interleave_top`, ...TONE]
  const options = ['-t', '1', '-flags', '+ilme+ildct', '-x264-params', 'tff=1']
  const brightness = await brightnessOf(await madeOf(await make('fields', { inputs, options, faults: [] })))
  // Neighbouring fields are white and black: woven together they would be grey.
  expect(brightness.slice(1, -1).filter((one) => one > BLACK && one < WHITE)).toEqual([])
})

/** The frames of a file in the order in which they go out. */
async function framesOf(file: string): Promise<Frame[]> {
  const movie = await MovieReader.open(file)
  const frames: Frame[] = []
  try {
    for (let frame = await movie.next(); frame; frame = await movie.next()) frames.push(frame)
  } finally {
    await movie.close()
  }
  return frames
}

test('a delayed picture goes out as late as the edit list says', async () => {
  const name = 'picture delayed by an edit list'
  const frames = await framesOf(await make(name, KINDS[name]!))
  const first = (wanted: Frame['kind']) => frames.find(({ kind }) => kind === wanted)?.ms ?? Number.NaN
  expect(first('video') - first('audio')).toBeGreaterThan(400)
})

test('no picture is shown before it is decoded', async () => {
  const name = 'B-frames with negative decode times'
  const pictures = (await framesOf(await make(name, KINDS[name]!))).filter(({ kind }) => kind === 'video')
  const offsets = pictures.map(({ payload }) => payload.readIntBE(2, 3))
  expect(Math.min(...offsets)).toBe(0)
  expect(Math.max(...offsets)).toBeGreaterThan(0)
})
