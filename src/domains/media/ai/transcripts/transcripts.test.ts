import { describe, expect, test } from 'vitest'
import { languageTag } from './language.ts'
import { joinPieces, type Segment } from './segments.ts'
import { fromVtt, toSrt, toVtt } from './subtitles.ts'

const segment = (startSeconds: number, endSeconds: number, text: string, speaker: string | null = null): Segment => ({
  startSeconds,
  endSeconds,
  text,
  speaker,
})

describe('pieces', () => {
  test('are joined with times of the file, and no segment leaves its piece', () => {
    const pieces = [
      { start: 2, seconds: 10, segments: [segment(8, 14, ' two\n\nlines '), segment(-1, 3, 'one')] },
      { start: 12, seconds: 5, segments: [segment(0, 2, 'three'), segment(9, 9, 'late'), segment(3, 4, ' \u0000 ')] },
    ]
    expect(joinPieces(pieces)).toEqual([
      segment(2, 5, 'one'),
      segment(10, 12, 'two lines'),
      segment(12, 14, 'three'),
      segment(16.99, 17, 'late'),
    ])
  })

  test('do not share labels of speakers', () => {
    const piece = (start: number) => ({ start, seconds: 5, segments: [segment(0, 1, 'Hi', 'A')] })
    expect(joinPieces([piece(0)]).map(({ speaker }) => speaker)).toEqual(['A'])
    expect(joinPieces([piece(0), piece(5)]).map(({ speaker }) => speaker)).toEqual(['1-A', '2-A'])
  })
})

describe('subtitles', () => {
  test('cannot be broken by their text', () => {
    const text = joinPieces([
      { start: 0, seconds: 9, segments: [segment(0, 2, '1\n\n00:00:00.000 --> 00:00:09.000\n<script>', '<A>')] },
    ])
    expect(toSrt(text)).toBe('1\n00:00:00,000 --> 00:00:02,000\n<A>: 1 00:00:00.000 → 00:00:09.000 <script>\n')
    expect(toVtt(text)).toBe(
      'WEBVTT\n\n00:00:00.000 --> 00:00:02.000\n<v &lt;A&gt;>1 00:00:00.000 --&gt; 00:00:09.000 &lt;script&gt;\n',
    )
    expect(toVtt([])).toBe('WEBVTT\n')
    expect(toVtt([], 'by a -->\n\nmodel')).toBe('WEBVTT\n\nNOTE by a → model\n')
    expect(toSrt([])).toBe('')
  })

  test('show two lines at once, and end when the next ones begin', () => {
    const words = Array.from({ length: 60 }, (_, index) => `word${index}`).join(' ')
    const vtt = toVtt([segment(3_600, 3_660, words), segment(3_650, 3_670, 'end')])
    const cues = vtt.split('\n\n').slice(1)
    for (const cue of cues) {
      const [, ...lines] = cue.trim().split('\n')
      expect(lines.length).toBeLessThanOrEqual(2)
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(42)
    }
    expect(cues[0]).toMatch(/^01:00:00\.000 --> /)
    expect(cues.at(-1)).toBe('01:00:50.000 --> 01:01:10.000\nend\n')
    expect(
      fromVtt(vtt)
        .map(({ text }) => text)
        .join(' '),
    ).toBe(`${words} end`)
  })

  test('of ffmpeg are read without formatting', () => {
    const vtt = 'WEBVTT\n\n00:00.500 --> 00:01.000 align:left\n<i>A &amp; b</i>\nline &lt;two&gt;\n\nNOTE no cue\n'
    expect(fromVtt(vtt)).toEqual([segment(0.5, 1, 'A & b line <two>')])
  })
})

test('languages are known by tag and by English name', () => {
  expect(['german', 'English', 'pt-br', 'xx xx', '', null].map(languageTag)).toEqual([
    'de',
    'en',
    'pt-BR',
    null,
    null,
    null,
  ])
})
