import { existsSync, writeFileSync } from 'node:fs'
import { Compile } from 'typebox/compile'
import { beforeAll, describe, expect, test } from 'vitest'
import { useMediaWork } from '../../../../../media/testing/work-fixture.ts'
import { differentShare } from '../../../../../media/work/studio/testing/pictures.ts'
import { EXAMPLE } from '../../../../core/example-ids.ts'
import { checkProject } from '../check-project.ts'
import { StudioProjectData } from '../schemas.ts'
import { previewPath } from './catalog.ts'
import { buildProject } from './from-template.ts'
import { TEMPLATES, type TemplateKey } from './index.ts'
import { partsOf } from './subtitle-layers.ts'
import {
  makeFiles,
  SAMPLES,
  segment,
  shot,
  type Sample,
  type Stage,
} from '../../../../../test/support/studio-samples.ts'

/** The templates, rendered. Their previews are the references, which were looked at; a missing one is made. */

const { work, folder } = useMediaWork()
/** Of a channel, from 0 to 255. Previews are compressed. */
const TOLERANCE = 60
const MAX_DIFFERENT = 0.01

let stage: Stage
beforeAll(async () => {
  stage = { work, folder, files: await makeFiles(folder) }
})

const KEYS = Object.keys(TEMPLATES) as TemplateKey[]

const isKnown = new Map(KEYS.map((key) => [key, existsSync(previewPath(key))]))

test.each(KEYS)('%s looks like its preview', async (key) => {
  const input = SAMPLES[key]
  const made = await shot(stage, buildProject(TEMPLATES[key], input), input)
  if (isKnown.get(key) !== true) {
    writeFileSync(previewPath(key), made)
    throw new Error('The preview was missing and has been written. Look at it, and run the test again.')
  }
  expect(await differentShare(previewPath(key), made, TOLERANCE)).toBeLessThan(MAX_DIFFERENT)
})

describe.each(KEYS)('%s', (key) => {
  const template = TEMPLATES[key]
  const isProject = Compile(StudioProjectData)
  const world = 'שלום مرحبا 今夜放送 오늘 밤 🎉 👩🏽‍🚀 🇺🇦'
  /** The sample with every text replaced. */
  const inputIn = (text: string): Sample => {
    const { values, ...rest } = SAMPLES[key]
    const replaced = Object.fromEntries(
      Object.entries(values).map(([field, value]) => {
        if (['title', 'text', 'author', 'when', 'place'].includes(field)) return [field, text]
        return [field, field === 'bulletTexts' ? [text] : value]
      }),
    )
    return { ...rest, values: replaced, segments: SAMPLES[key].segments.map((one) => ({ ...one, text })) }
  }

  test.each(['square', 'portrait', 'story', 'landscape', 'wide', 'pin', 'thumbnail'] as const)(
    'makes a project that can be saved, as %s',
    (pageFormat) => {
      const input = SAMPLES[key]
      const data = buildProject(template, { ...input, values: { ...input.values, pageFormat } })
      // As a client would send it. The samples name files instead of assets.
      const sent: unknown = JSON.parse(
        JSON.stringify(data).replaceAll(/"assetId":"[^"]*"/g, `"assetId":"${EXAMPLE.assetId}"`),
      )
      expect([...isProject.Errors(sent)]).toEqual([])
      expect(checkProject(data, '')).toEqual([])
    },
  )

  test('has fonts for right-to-left, CJK and emoji text', async () => {
    // A character without a font makes the rendering fail. At its start, a page shows the layers that have no later start.
    const [plain, made] = [inputIn('Live'), inputIn(world)].map((input) => buildProject(template, input))
    if (plain === undefined || made === undefined) throw new Error('there are two projects')
    expect(await differentShare(await shot(stage, plain, {}), await shot(stage, made, {}), TOLERANCE)).toBeGreaterThan(
      0,
    )
  })
})

test('a long transcript is divided into pages, whose times add up', () => {
  const segments = Array.from({ length: 200 }, (_, index) => segment(`${index}`, index * 2 + 0.01, index * 2 + 1.9))
  const parts = partsOf(segments, 401)
  expect(parts.map(({ segments: own }) => own.length)).toEqual([90, 90, 20])
  expect(parts.map(({ from }) => from)).toEqual([0, 180, 360])
  expect(parts.reduce((sum, { seconds }) => sum + seconds, 0)).toBeCloseTo(401)
  const [first] = parts[1]?.segments ?? []
  expect(first?.startSeconds).toBeCloseTo(0.01)
  expect(partsOf([], 7)).toEqual([{ from: 0, seconds: 7, segments: [] }])
})
