import { escapeText, withoutTags } from '../../../../tools/html.ts'
import { plain, type Segment } from './segments.ts'

/** Two lines of the length that subtitles usually have. */
const LINE = 42
const MAX_CHARACTERS = 2 * LINE

/** Subtitles as SubRip, which knows no formatting and no escapes. */
export function toSrt(segments: readonly Segment[]): string {
  return cuesOf(segments)
    .map(({ endSeconds, speaker, startSeconds, text }, index) => {
      const time = `${timeOf(startSeconds, ',')} --> ${timeOf(endSeconds, ',')}`
      return `${index + 1}\n${time}\n${withoutArrow(speaker === null ? text : `${speaker}: ${text}`)}\n`
    })
    .join('\n')
}

/** Subtitles as WebVTT. Speakers are voice tags. @param note a comment, which players do not show */
export function toVtt(segments: readonly Segment[], note?: string): string {
  const cues = cuesOf(segments).map(({ endSeconds, speaker, startSeconds, text }) => {
    const time = `${timeOf(startSeconds, '.')} --> ${timeOf(endSeconds, '.')}`
    const voice = speaker === null ? '' : `<v ${escapeText(speaker)}>`
    return `${time}\n${voice}${escapeText(text)}\n`
  })
  const comment = note === undefined ? [] : [`NOTE ${withoutArrow(plain(note))}\n`]
  return ['WEBVTT\n', ...comment, ...cues].join('\n')
}

/** Reads the WebVTT that ffmpeg writes of embedded subtitles. Formatting is left out. */
export function fromVtt(vtt: string): Segment[] {
  return vtt.split(/\r?\n\r?\n/).flatMap((block): Segment[] => {
    const lines = block.split(/\r?\n/)
    const at = lines.findIndex((line) => line.includes('-->'))
    const [, from, to] = /^([\d:.]+)\s+-->\s+([\d:.]+)/.exec(lines[at] ?? '') ?? []
    if (from === undefined || to === undefined) return []
    const text = plain(unescaped(withoutTags(lines.slice(at + 1).join(' '))))
    return text === '' ? [] : [{ startSeconds: secondsOf(from), endSeconds: secondsOf(to), text, speaker: null }]
  })
}

/**
 * Segments as what a player shows at once. A long segment is divided at words, and its time by the length of the parts. A
 * cue ends when the next one begins.
 */
function cuesOf(segments: readonly Segment[]): Segment[] {
  const cues = segments.flatMap((segment) => {
    const parts = linesOf(segment.text, MAX_CHARACTERS)
    const { endSeconds, startSeconds } = segment
    const perCharacter = (endSeconds - startSeconds) / parts.join('').length
    let at = startSeconds
    return parts.map((part): Segment => {
      const start = at
      at += part.length * perCharacter
      return { ...segment, startSeconds: start, endSeconds: at, text: linesOf(part, LINE).join('\n') }
    })
  })
  return cues.map((cue, index) => {
    const next = cues[index + 1]
    const overlaps = next !== undefined && next.startSeconds > cue.startSeconds && next.startSeconds < cue.endSeconds
    return overlaps ? { ...cue, endSeconds: next.startSeconds } : cue
  })
}

/** Splits a text at word boundaries into lines of at most this many characters. A longer word gets its own line. */
function linesOf(text: string, most: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const line = lines.at(-1)
    if (line !== undefined && line.length + 1 + word.length <= most) lines[lines.length - 1] = `${line} ${word}`
    else lines.push(word)
  }
  return lines
}

function timeOf(seconds: number, separator: string): string {
  const all = Math.max(0, Math.round(seconds * 1_000))
  const part = (value: number, digits = 2) => String(value).padStart(digits, '0')
  const [hours, minutes, rest] = [Math.floor(all / 3_600_000), Math.floor(all / 60_000) % 60, all % 60_000]
  return `${part(hours)}:${part(minutes)}:${part(Math.floor(rest / 1_000))}${separator}${part(rest % 1_000, 3)}`
}

function secondsOf(time: string): number {
  return time.split(':').reduce((sum, part) => sum * 60 + Number(part), 0)
}

/** An arrow in the text would look like the times of a cue. */
function withoutArrow(text: string): string {
  return text.replaceAll('-->', '→')
}

function unescaped(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll(/&(?:nbsp|lrm|rlm);/g, ' ')
    .replaceAll('&amp;', '&')
}
