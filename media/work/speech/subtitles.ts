import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MediaWorkError } from '../errors.ts'
import { describeInput } from '../probe/ffmpeg-info.ts'
import { openSource } from '../probe/source-file.ts'
import type { WorkContext } from '../process/context.ts'
import type { SubtitleResult } from '../types.ts'

/** Subtitles that are text. Others are pictures. */
const TEXT_CODECS = /^(?:subrip|srt|ass|ssa|webvtt|mov_text|text|stl|subviewer1?|microdvd|sami|realtext|ttml)$/
const MAX_BYTES = 8 * 2 ** 20

/** A subtitle track as ffmpeg describes it. */
export interface SubtitleTrack {
  /** Its place among the subtitle tracks. */
  readonly index: number
  /** Language tag. Null if the file does not say it. */
  readonly language: string | null
  readonly isText: boolean
}

/** The subtitle tracks in the output of `ffmpeg -i`. */
export function subtitleTracks(text: string): SubtitleTrack[] {
  return [...text.matchAll(/^ +Stream #0:\d+(?:\[\w+\])?(?:\((\w+)\))?: Subtitle: (\w+)/gm)].map(
    ([, language, codec = ''], index) => ({ index, language: languageTag(language), isText: TEXT_CODECS.test(codec) }),
  )
}

/**
 * Reads the text subtitles that are embedded in a file: those in the language, else the first ones.
 * @param language a language tag
 * @returns WebVTT; null if the file has no text subtitles
 * @throws MediaWorkError
 */
export async function subtitles(
  path: string,
  language: string | undefined,
  context: WorkContext,
): Promise<SubtitleResult | null> {
  const { kind } = await openSource(path, undefined)
  if (kind.decoder !== 'ffmpeg') throw new MediaWorkError('unsupported', 'The file is neither video nor audio.')
  const { ffmpeg, signal } = context
  const tracks = subtitleTracks(await describeInput(ffmpeg.path, path, signal)).filter(({ isText }) => isText)
  const wanted = language === undefined ? undefined : languageTag(language.split('-')[0])
  const track = tracks.find((one) => wanted !== undefined && one.language === wanted) ?? tracks[0]
  if (track === undefined) return null
  const output = join(await context.scratch(), 'subtitles.vtt')
  await ffmpeg.run({
    input: path,
    inputOptions: ['-vn', '-an', '-dn'],
    outputOptions: ['-map', `0:s:${track.index}`, '-c:s', 'webvtt', '-f', 'webvtt'],
    output,
    outputBytes: MAX_BYTES,
    signal,
  })
  return { language: track.language, vtt: await readFile(output, 'utf8') }
}

/** A language tag for a code of ISO 639: `eng` is `en`. Null for unknown languages. */
function languageTag(code: string | undefined): string | null {
  if (code === undefined || code === 'und') return null
  try {
    return new Intl.Locale(code).language
  } catch {
    return null
  }
}
