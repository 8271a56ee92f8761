import { describe, expect, it } from 'vitest'
import { PLATFORMS } from '../registry.ts'
import { checkFile, type LooseFile } from './check-file.ts'
import { effectiveLimits } from './limits.ts'
import type { Rule } from './rule.ts'

const SOURCE = { source: 'docs.example', seen: '2026-11', confidence: 'read' } as const
const RULES: readonly Rule[] = [
  { id: 'image.types', value: ['image/jpeg', 'image/gif'], ...SOURCE },
  { id: 'image.maxBytes', value: 1_000, ...SOURCE },
  { id: 'image.maxRatio', value: 2, ...SOURCE, effect: 'crops the image' },
  { id: 'gif.max', value: 0, ...SOURCE },
  { id: 'video.max', value: 1, ...SOURCE },
  { id: 'video.minBytes', value: 500, ...SOURCE },
  { id: 'video.maxSeconds', value: 60, ...SOURCE },
]
const platform = { title: 'Example' }
const limits = effectiveLimits({ rules: RULES })
const image: LooseFile = { kind: 'image', type: 'image/jpeg', name: 'a.jpg', bytes: 900, width: 10, height: 10 }
const verdict = (file: Partial<LooseFile>) => checkFile(platform, limits, { ...image, ...file })

describe('a single file', () => {
  it('is taken within the limits, with the source of the types', () => {
    const taken = { refusals: [], adjustments: [], source: { title: 'docs.example', seen: '2026-11' } }
    expect(verdict({})).toMatchObject(taken)
  })

  it('is refused with every reason', () => {
    const { refusals } = verdict({ type: 'image/png', bytes: 1_001 })
    expect(refusals).toEqual([
      'The image “a.jpg” is image/png; Example takes image/jpeg, image/gif.',
      'The image “a.jpg” has 1,001 bytes; Example allows 1,000 bytes.',
    ])
  })

  it('names what the platform changes', () => {
    expect(verdict({ width: 30 })).toMatchObject({ refusals: [], adjustments: [expect.stringContaining('crops')] })
  })

  it('of unknown size and length is judged by the rest', () => {
    expect(verdict({ kind: 'video', type: 'video/mp4', bytes: undefined })).toMatchObject({
      refusals: [],
      adjustments: [],
    })
    expect(verdict({ kind: 'video', type: 'video/mp4', bytes: 499 }).refusals).toHaveLength(1)
  })

  it('that is a GIF may be a still image', () => {
    expect(verdict({ type: 'image/gif' }).refusals).toEqual([])
    const none = effectiveLimits({ rules: RULES.filter(({ id }) => !id.startsWith('image.')) })
    expect(checkFile(platform, none, { ...image, type: 'image/gif' }).refusals).toEqual([
      'Example takes no animated images.',
    ])
  })

  it('of a kind that the platform does not take is refused', () => {
    expect(verdict({ kind: 'audio', type: 'audio/mpeg' }).refusals).toEqual(['Example takes no audio files.'])
    expect(verdict({ kind: 'document', type: 'application/pdf' }).refusals).toEqual(['Example takes no documents.'])
  })
})

it.each(PLATFORMS.map((one) => [one.title, one] as const))('%s has a source for every kind of file', (_title, one) => {
  for (const kind of ['image', 'video', 'audio', 'document'] as const) {
    const { source } = checkFile(one, effectiveLimits(one), { ...image, kind })
    expect(source.title).not.toBe('')
  }
})
