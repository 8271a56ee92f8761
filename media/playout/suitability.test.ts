import { join } from 'node:path'
import { expect, test } from 'vitest'
import { brightnessOf } from '../testing/brightness.ts'
import { writeMatrix } from '../testing/display-matrix.ts'
import { runFfmpeg } from '../testing/ffmpeg.ts'
import { useMediaWork } from '../testing/work-fixture.ts'
import { MovieReader, type Frame } from './movie-reader.ts'
import { checkFile } from './suitability.ts'

/** A kind of file that users have, and what prevents it from being streamed without conversion. */
interface Kind {
  /** Input arguments of ffmpeg, if not {@link PICTURE} and {@link TONE}. */
  readonly inputs?: readonly string[]
  /** Output arguments of ffmpeg in addition to {@link H264} and {@link AAC}. */
  readonly options?: readonly string[]
  /** Arguments for a second run of ffmpeg that copies the encoded streams: before and after the input. */
  readonly copied?: { readonly before?: readonly string[]; readonly after?: readonly string[] }
  /** The display matrix. */
  readonly matrix?: readonly number[]
  /** Parts of the expected faults; empty if the file can be streamed. */
  readonly faults: readonly string[]
}

const PICTURE = ['-f', 'lavfi', '-i', 'testsrc=size=160x90:rate=30:duration=2']
const TONE = ['-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=48000:duration=2']
const H264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-g', '30', '-bf', '2']
const HEVC = ['-c:v', 'libx265', '-tag:v', 'hvc1', '-x265-params', 'log-level=error']
const AAC = ['-c:a', 'aac', '-ac', '2']

const KINDS: Readonly<Record<string, Kind>> = {
  'constant frame rate, moov at the end': { faults: [] },
  'moov at the start': { options: ['-movflags', '+faststart'], faults: [] },
  fragmented: { copied: { after: ['-movflags', '+frag_keyframe+empty_moov+default_base_moof'] }, faults: [] },
  'rotated by 90°': { matrix: [0, 1, -1, 0], faults: ['rotate the video by 90°'] },
  'rotated by 180°': { matrix: [-1, 0, 0, -1], faults: ['rotate the video by 180°'] },
  'rotated by 270°': { matrix: [0, -1, 1, 0], faults: ['rotate the video by 270°'] },
  mirrored: { matrix: [1, 0, 0, -1], faults: ['mirrored'] },
  'start trimmed by an edit list': {
    copied: { before: ['-ss', '0.7'] },
    faults: ['first 0.7 s of the video', '0.7 s of the audio'],
  },
  'video delayed by an edit list': {
    inputs: ['-itsoffset', '0.5', ...PICTURE, ...TONE],
    options: ['-vsync', 'passthrough'],
    faults: [],
  },
  'B-frames with negative composition time offsets': { options: ['-movflags', '+negative_cts_offsets'], faults: [] },
  'open GOPs': {
    options: ['-preset', 'veryfast', '-x264-params', 'open-gop=1:scenecut=0:b-adapt=0'],
    faults: ['open GOPs'],
  },
  'variable frame rate': { options: ['-vf', "select='not(eq(mod(n,5),2))'", '-vsync', 'vfr'], faults: [] },
  '120 frames per second': {
    inputs: ['-f', 'lavfi', '-i', 'testsrc=size=160x90:rate=120:duration=1', ...TONE, '-t', '1'],
    faults: ['120 frames per second'],
  },
  interlaced: {
    options: ['-vf', 'scale=160:96,setsar=1', '-flags', '+ilme+ildct', '-x264-params', 'tff=1'],
    faults: ['interlaced'],
  },
  '4:4:4 chroma': { options: ['-pix_fmt', 'yuv444p'], faults: ['4:4:4'] },
  '4:2:2 chroma': { options: ['-pix_fmt', 'yuv422p'], faults: ['4:2:2'] },
  '10-bit': { options: ['-pix_fmt', 'yuv420p10le'], faults: ['10-bit'] },
  'odd width and height': {
    options: ['-vf', 'scale=161:91', '-pix_fmt', 'yuv444p'],
    faults: ['4:4:4', '161 × 91 pixels'],
  },
  'non-square pixels': { options: ['-vf', 'setsar=4/3'], faults: ['1.33 times as wide'] },
  'HDR in H.264': {
    options: ['-color_trc', 'arib-std-b67', '-color_primaries', 'bt2020', '-colorspace', 'bt2020nc'],
    faults: ['HDR (HLG)'],
  },
  '10-bit HEVC with HDR, as recorded by phones': {
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
  '5.1 audio': { options: ['-ac', '6'], faults: ['6 channels (5.1)'] },
  'mono audio at 22 kHz': { options: ['-ac', '1', '-ar', '22050'], faults: ['22050 Hz'] },
  'mono audio at 44.1 kHz': { options: ['-ac', '1', '-ar', '44100'], faults: [] },
  'two audio tracks': { inputs: [...PICTURE, ...TONE, '-map', '0:v', '-map', '1:a', '-map', '1:a'], faults: [] },
  'no audio': { options: ['-an'], faults: ['no audio'] },
  'audio only': { options: ['-vn'], faults: ['no video'] },
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

/** Converts a file like `transcode: auto` does. @returns the path of the rendition */
async function convert(file: string): Promise<string> {
  const rendition = `${file}.live.mp4`
  await work.transcode(file, rendition, { kind: 'video', preset: 'live', loudness: null })
  return rendition
}

test.each(Object.entries(KINDS))('%s', async (name, kind) => {
  const { faults } = kind
  const file = await make(name, kind)
  expect((await checkFile(file)).faults).toEqual(faults.map((part) => expect.stringContaining(part)))
  // The rendition can be streamed.
  if (faults.length > 0 && name !== 'audio only') expect((await checkFile(await convert(file))).faults).toEqual([])
})

/** Inputs of white video, changed by a filter. */
const whiteWith = (filter: string) => [
  '-f',
  'lavfi',
  '-i',
  `color=white:size=160x90:rate=30:duration=1,${filter}`,
  ...TONE,
]
const WHITE = 200
const BLACK = 50

test('the rendition of a rotated file is upright', async () => {
  const inputs = whiteWith('drawbox=x=80:w=80:h=90:color=black:t=fill')
  const rendition = await convert(
    await make('half', { inputs, options: ['-t', '1'], matrix: [0, 1, -1, 0], faults: [] }),
  )
  const top = join(folder, 'top.mp4')
  await runFfmpeg('-i', rendition, '-vf', 'crop=iw:ih/2:0:0', top)
  // The left half, rotated clockwise.
  expect(Math.min(...(await brightnessOf(top)))).toBeGreaterThan(WHITE)
})

test('the rendition of a file with a trimmed start does not contain that start', async () => {
  const inputs = whiteWith("drawbox=w=160:h=90:color=black:t=fill:enable='gte(t,0.5)'")
  const copied = { before: ['-ss', '0.5'] }
  const file = await make('lead-in', { inputs, copied, options: ['-t', '1'], faults: [] })
  const brightness = await brightnessOf(await convert(file))
  expect(brightness.length).toBeGreaterThan(10)
  expect(Math.max(...brightness)).toBeLessThan(BLACK)
})

test('the rendition of an interlaced file has one frame per field', async () => {
  const fields =
    "color=white:size=160x96:rate=60:duration=1,drawbox=w=160:h=96:color=black:t=fill:enable='between(mod(n,4),1,2)'"
  const inputs = ['-f', 'lavfi', '-i', `${fields},tinterlace=interleave_top`, ...TONE]
  const options = ['-t', '1', '-flags', '+ilme+ildct', '-x264-params', 'tff=1']
  const brightness = await brightnessOf(await convert(await make('fields', { inputs, options, faults: [] })))
  // Adjacent fields are white and black. Combined they would be grey.
  expect(brightness.slice(1, -1).filter((one) => one > BLACK && one < WHITE)).toEqual([])
})

/** All frames of a file in sending order. */
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

test('an edit list delays the video', async () => {
  const name = 'video delayed by an edit list'
  const frames = await framesOf(await make(name, KINDS[name]!))
  const first = (wanted: Frame['kind']) => frames.find(({ kind }) => kind === wanted)?.ms ?? Number.NaN
  expect(first('video') - first('audio')).toBeGreaterThan(400)
})

test('no composition time offset is negative', async () => {
  const name = 'B-frames with negative composition time offsets'
  const video = (await framesOf(await make(name, KINDS[name]!))).filter(({ kind }) => kind === 'video')
  const offsets = video.map(({ payload }) => payload.readIntBE(2, 3))
  expect(Math.min(...offsets)).toBe(0)
  expect(Math.max(...offsets)).toBeGreaterThan(0)
})
