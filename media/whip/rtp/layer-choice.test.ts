import { expect, test } from 'vitest'
import { LayerChoice, type LayerState } from './layer-choice.ts'

/** Layers of 320×180 and 640×360 whose packets come every 20 ms while they are on, and keyframes whenever asked for. */
function simulcast() {
  const choice = new LayerChoice(['h', 'f'])
  const layers = {
    h: { name: 'h', area: 0, heardAt: null as number | null },
    f: { name: 'f', area: 0, heardAt: null as number | null },
  }
  const areas = { h: 57_600, f: 230_400 }
  let now = 0
  /** @returns the layers that went out, in their order */
  const run = (on: readonly ('h' | 'f')[], ms: number): string[] => {
    const shown = new Set<string>()
    for (const until = now + ms; now < until; now += 20) {
      for (const name of on) {
        choice.note(layers[name], now)
        Object.assign(layers[name], { heardAt: now, area: areas[name] })
        const all: LayerState[] = Object.values(layers)
        if (choice.wanted(all, now) === name && choice.current !== name) choice.take(layers[name])
      }
      if (choice.current !== null) shown.add(choice.current)
    }
    return [...shown]
  }
  return run
}

test('the best layer is taken when all have come', () => {
  expect(simulcast()(['h', 'f'], 1_000)).toEqual(['f'])
})

test('a layer that does not come is waited for, and then done without', () => {
  const run = simulcast()
  expect(run(['h'], 2_900)).toEqual([])
  expect(run(['h'], 200)).toEqual(['h'])
  // What goes out first sets the size: a larger picture would be scaled down again.
  expect(run(['h', 'f'], 20_000)).toEqual(['h'])
})

test('it goes down when its layer is gone, and up when that has been back for a while', () => {
  const run = simulcast()
  run(['h', 'f'], 1_000)
  expect(run(['h'], 500)).toEqual(['f'])
  expect(run(['h'], 1_000)).toEqual(['f', 'h'])
  expect(run(['h', 'f'], 2_900)).toEqual(['h'])
  // A break begins it all over.
  expect(run(['h'], 1_000)).toEqual(['h'])
  expect(run(['h', 'f'], 2_900)).toEqual(['h'])
  expect(run(['h', 'f'], 500)).toEqual(['h', 'f'])
  expect(run(['f'], 2_000)).toEqual(['f'])
})

test('while nothing at all comes, nothing changes', () => {
  const run = simulcast()
  run(['h', 'f'], 1_000)
  run([], 5_000)
  expect(run(['h', 'f'], 1_000)).toEqual(['f'])
})
