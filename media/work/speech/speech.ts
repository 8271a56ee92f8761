import { open, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { MediaWorkError } from '../errors.ts'
import { speechPiecePath } from '../outputs.ts'
import { openSource } from '../probe/source-file.ts'
import { probeWorkable } from '../probe/timed.ts'
import type { WorkContext } from '../process/context.ts'
import type { Progress, ProbeResult, SpeechPiece, SpeechResult } from '../types.ts'
import { pausesIn, piecesOf, type Span } from './pauses.ts'
import { openWave, quietestMoment, SAMPLE_RATE } from './wave.ts'

/** Sound below this level for this long is a pause. */
const PAUSE = 'noise=-35dB:d=0.35'
const PAUSES_FILE = 'pauses.txt'
/** Fills gaps, so that the times of the sound are those of the file, also if the sound begins after the pictures. */
const KEEP_TIMES = `aresample=${SAMPLE_RATE}:async=1:min_hard_comp=0.1:first_pts=0`
/** The share of the first pass in the progress. The second one only compresses. */
const FIRST_SHARE = 0.8

export interface SpeechInput {
  readonly maxSeconds: number
  readonly probed?: ProbeResult | undefined
}

/**
 * Extracts the sound of a file for speech recognition and cuts it at pauses.
 * @throws MediaWorkError
 */
export async function speech(
  path: string,
  outputDir: string,
  { maxSeconds, probed }: SpeechInput,
  context: WorkContext,
): Promise<SpeechResult> {
  const file = await openSource(path, probed)
  if (file.kind.decoder !== 'ffmpeg') throw new MediaWorkError('unsupported', 'The file is neither video nor audio.')
  const source = await probeWorkable(file, context)
  if (source.audio === null) throw new MediaWorkError('unsupported', 'The file has no audio.')
  const folder = await context.scratch()
  const wavePath = join(folder, 'sound.wav')
  const report = (from: number, share: number) => (progress: Progress) =>
    context.progress({ ...progress, fraction: from + progress.fraction * share, etaSeconds: null })
  await context.ffmpeg.run({
    input: path,
    inputOptions: ['-vn', '-sn', '-dn'],
    outputOptions: [
      '-map',
      '0:a:0',
      '-ac',
      '1',
      '-af',
      `${KEEP_TIMES},aformat=sample_fmts=s16:channel_layouts=mono,silencedetect=${PAUSE},ametadata=mode=print:file=${PAUSES_FILE}`,
      '-c:a',
      'pcm_s16le',
      '-f',
      'wav',
    ],
    output: wavePath,
    cwd: folder,
    signal: context.signal,
    seconds: source.seconds ?? 0,
    onProgress: report(0, FIRST_SHARE),
  })
  const handle = await open(wavePath)
  try {
    const wave = await openWave(handle)
    const pauses = pausesIn(await readFile(join(folder, PAUSES_FILE), 'utf8').catch(() => ''), wave.seconds)
    const spans = await piecesOf({ seconds: wave.seconds, pauses }, maxSeconds, (window) =>
      quietestMoment(wave, window),
    )
    const pieces: SpeechPiece[] = []
    for (const [index, span] of spans.entries()) {
      const output = speechPiecePath(outputDir, index)
      await compress(wavePath, output, span, context)
      const { size: bytes } = await stat(output)
      pieces.push({ path: output, start: span.start, seconds: span.end - span.start, bytes })
      const fraction = FIRST_SHARE + ((index + 1) / spans.length) * (1 - FIRST_SHARE)
      context.progress({ fraction, fps: null, etaSeconds: null })
    }
    return { seconds: wave.seconds, pieces }
  } finally {
    await handle.close()
  }
}

/** FLAC has no delay at its start, so the times of a piece are exact. */
function compress(wave: string, output: string, { end, start }: Span, { ffmpeg, signal }: WorkContext) {
  return ffmpeg.run({
    input: wave,
    inputOptions: ['-ss', start.toFixed(6), '-t', (end - start).toFixed(6)],
    outputOptions: ['-c:a', 'flac', '-f', 'flac'],
    output,
    signal,
  })
}
