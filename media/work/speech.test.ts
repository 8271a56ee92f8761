import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { runFfmpeg } from '../testing/ffmpeg.ts'
import { useMediaWork } from '../testing/work-fixture.ts'
import { pausesIn, piecesOf } from './speech/pauses.ts'
import { subtitleTracks } from './speech/subtitles.ts'

const { work, folder } = useMediaWork()
const path = (name: string) => join(folder, name)
const outputDir = () => mkdtempSync(join(folder, 'pieces-'))

describe('pieces', () => {
  const nowhere = async () => Promise.reject(new Error('there is a pause'))
  const pauses = (...times: [number, number][]) => times.map(([start, end]) => ({ start, end }))

  test('end in the middle of the longest pause near their end', async () => {
    const sound = { seconds: 100, pauses: pauses([10, 15], [38, 39], [44, 46], [49, 49.5], [82, 83]) }
    expect(await piecesOf(sound, 50, nowhere)).toEqual([
      { start: 0, end: 45 },
      { start: 45, end: 82.5 },
      { start: 82.5, end: 100 },
    ])
  })

  test('end at the quietest moment without a pause', async () => {
    const windows: object[] = []
    const quietest = async (window: { start: number; end: number }) => {
      windows.push(window)
      return window.start + 1
    }
    expect(await piecesOf({ seconds: 25, pauses: [] }, 20, quietest)).toEqual([
      { start: 0, end: 13 },
      { start: 13, end: 25 },
    ])
    expect(windows).toEqual([{ start: 12, end: 20 }])
  })

  test('leave out long pauses, and nothing else', async () => {
    const sound = { seconds: 200, pauses: pauses([0, 30], [60, 70], [90, 150], [170, 200]) }
    expect(await piecesOf(sound, 300, nowhere)).toEqual([
      { start: 29.5, end: 90.5 },
      { start: 149.5, end: 170.5 },
    ])
    expect(await piecesOf({ seconds: 5, pauses: pauses([0, 5]) }, 300, nowhere)).toEqual([])
    expect(await piecesOf({ seconds: 5, pauses: [] }, 300, nowhere)).toEqual([{ start: 0, end: 5 }])
  })

  test('are read from the output of ffmpeg, also a pause that lasts until the end', () => {
    const text =
      'frame:1 pts:1\nlavfi.silence_start=-0.01\nframe:2\nlavfi.silence_end=1.5\nlavfi.silence_duration=1.5\n'
    expect(pausesIn(`${text}lavfi.silence_start=8\n`, 10)).toEqual(pauses([0, 1.5], [8, 10]))
    expect(pausesIn('', 10)).toEqual([])
  })
})

describe('sound', () => {
  beforeAll(async () => {
    // Beeps of 2.5 s with pauses of 0.5 s, which begin 0.5 s after the pictures.
    const beeps = "sine=frequency=440:sample_rate=48000:duration=30,volume='if(lt(mod(t,3),2.5),0.5,0)':eval=frame"
    const picture = ['-f', 'lavfi', '-i', 'color=black:size=64x64:rate=5:duration=31']
    const late = ['-itsoffset', '0.5', '-f', 'lavfi', '-i', beeps]
    const codecs = ['-map', '0:v', '-map', '1:a', '-c:v', 'libx264', '-preset', 'ultrafast', '-c:a', 'aac']
    await runFfmpeg(...picture, ...late, ...codecs, '-f', 'mp4', path('beeps'))
    await runFfmpeg('-f', 'lavfi', '-i', 'anullsrc=duration=3', '-f', 'wav', path('silence'))
    await runFfmpeg('-f', 'lavfi', '-i', 'color=black:size=64x64:rate=5:duration=1', '-f', 'mp4', path('mute'))
  })

  test('is cut at pauses, with times of the file', async () => {
    const to = outputDir()
    const { pieces, seconds } = await work.speech(path('beeps'), to, { maxSeconds: 10 })
    expect(seconds).toBeGreaterThan(30)
    expect(pieces.length).toBeGreaterThan(2)
    let end = 0
    for (const [index, piece] of pieces.entries()) {
      // Nothing is lost at a cut, and no piece is too long.
      expect(piece.start).toBeCloseTo(end, 5)
      expect(piece.seconds).toBeLessThanOrEqual(10)
      end = piece.start + piece.seconds
      if (index > 0) {
        // The sound begins at 0.5 s, and pauses from 2.5 s of every three seconds.
        const inBeat = (piece.start - 0.5) % 3
        expect(inBeat).toBeGreaterThan(2.5)
        expect(inBeat).toBeLessThan(3)
      }
      expect(samplesOf(piece.path)).toBe(Math.round(piece.seconds * 16_000))
    }
    expect(end).toBeCloseTo(seconds, 5)
    expect(readdirSync(to)).toHaveLength(pieces.length)
  })

  test('of a silent file has no pieces', async () => {
    expect(await work.speech(path('silence'), outputDir(), { maxSeconds: 10 })).toEqual({ seconds: 3, pieces: [] })
  })

  test('is missing in a video without sound', async () => {
    await expect(work.speech(path('mute'), outputDir(), { maxSeconds: 10 })).rejects.toMatchObject({
      code: 'unsupported',
      message: 'The file has no audio.',
    })
  })
})

describe('embedded subtitles', () => {
  test('are read in the wanted language, else the first ones', async () => {
    writeFileSync(path('en.srt'), '1\n00:00:00,500 --> 00:00:01,000\nHello\n')
    writeFileSync(path('de.srt'), '1\n00:00:00,500 --> 00:00:01,000\nHallo\n')
    const picture = ['-f', 'lavfi', '-i', 'color=black:size=64x64:rate=5:duration=2']
    const tracks = [
      '-i',
      path('en.srt'),
      '-i',
      path('de.srt'),
      '-map',
      '0',
      '-map',
      '1',
      '-map',
      '2',
      '-c:s',
      'mov_text',
    ]
    const languages = ['-metadata:s:s:0', 'language=eng', '-metadata:s:s:1', 'language=deu']
    await runFfmpeg(...picture, ...tracks, ...languages, '-f', 'mp4', path('subtitled'))
    const german = await work.subtitles(path('subtitled'), { language: 'de-AT' })
    expect(german).toMatchObject({ language: 'de' })
    expect(german?.vtt).toMatch(/^WEBVTT[^]*00:00\.500 --> [^]*Hallo/)
    expect(await work.subtitles(path('subtitled'), { language: 'fr' })).toMatchObject({ language: 'en' })
    expect(await work.subtitles(path('mute'))).toBeNull()
  })

  test('that are pictures are not text', () => {
    const text = '  Stream #0:2[0x3](eng): Subtitle: mov_text (tx3g)\n  Stream #0:3: Subtitle: hdmv_pgs_subtitle\n'
    expect(subtitleTracks(text)).toEqual([
      { index: 0, language: 'en', isText: true },
      { index: 1, language: null, isText: false },
    ])
  })
})

function samplesOf(file: string): number {
  const args = ['-v', 'error', '-show_entries', 'stream=duration_ts', '-of', 'csv=p=0', file]
  return Number(execFileSync('ffprobe', args, { encoding: 'utf8' }))
}
