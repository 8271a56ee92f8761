import { expect, test } from 'vitest'
import { checkProject } from './check-project.ts'
import type { ProjectData, StudioLayerData } from './schemas.ts'

test('the search for errors ends when a reply is full', () => {
  const looked = new Set<number>()
  const layers = Array.from({ length: 100 }, (_, index): StudioLayerData => {
    const layer: StudioLayerData = { kind: 'text', left: 0, top: 0, width: 10, height: 10, color: '#000000' }
    return new Proxy(layer, {
      ownKeys: (target) => {
        looked.add(index)
        return Reflect.ownKeys(target)
      },
    })
  })
  const pages = Array.from({ length: 20 }, () => ({ width: 100, height: 100, background: '#ffffff', layers }))
  const data: ProjectData = { schemaVersion: 1, pages }
  const errors = checkProject(data, '/body')
  expect(errors).toHaveLength(20)
  expect(errors.slice(0, 3).map(({ path }) => path)).toEqual([
    '/body/pages/0/layers/0/text',
    '/body/pages/0/layers/0/fontSize',
    '/body/pages/0/layers/1/text',
  ])
  expect(looked.size).toBeLessThanOrEqual(11)
})

test('pictures of a page are counted by page', () => {
  const layer: StudioLayerData = { kind: 'picture', left: 0, top: 0, width: 6_000, height: 6_000, assetId: 'a' }
  const page = { width: 100, height: 100, background: '#ffffff' }
  const once = { ...page, layers: [layer] }
  const twice = { ...page, layers: [layer, { ...layer, assetId: 'b' }] }
  expect(checkProject({ schemaVersion: 1, pages: [once, once] }, '')).toEqual([])
  expect(checkProject({ schemaVersion: 1, pages: [once, twice] }, '').map(({ path }) => path)).toEqual([
    '/pages/1/layers/1/width',
  ])
})
