import { expect, test } from 'vitest'
import { LayerSelector, type LayerState } from './layer-selector.ts'

/** Layers `h` (320×180) and `f` (640×360). An active layer has a packet every 20 ms, and each packet is a keyframe. */
function simulcast() {
  const selector = new LayerSelector(['h', 'f'])
  const layers = {
    h: { name: 'h', area: 0, lastPacketAt: null as number | null },
    f: { name: 'f', area: 0, lastPacketAt: null as number | null },
  }
  const areas = { h: 57_600, f: 230_400 }
  let now = 0
  /** Sends packets of the active layers. @returns the layers that were selected, in order */
  const run = (active: readonly ('h' | 'f')[], ms: number): string[] => {
    const selected = new Set<string>()
    for (const until = now + ms; now < until; now += 20) {
      for (const name of active) {
        selector.onPacket(layers[name], now)
        Object.assign(layers[name], { lastPacketAt: now, area: areas[name] })
        const all: LayerState[] = Object.values(layers)
        if (selector.target(all, now) === name && selector.current !== name) selector.switchTo(layers[name])
      }
      if (selector.current !== null) selected.add(selector.current)
    }
    return [...selected]
  }
  return run
}

test('selects the best layer when packets of all layers have come', () => {
  expect(simulcast()(['h', 'f'], 1_000)).toEqual(['f'])
})

test('waits for a missing layer, then continues without it', () => {
  const run = simulcast()
  expect(run(['h'], 2_900)).toEqual([])
  expect(run(['h'], 200)).toEqual(['h'])
  // The first selected layer sets the output size, so a larger layer is not selected.
  expect(run(['h', 'f'], 20_000)).toEqual(['h'])
})

test('switches down when its layer is gone, and back when the layer has been steady', () => {
  const run = simulcast()
  run(['h', 'f'], 1_000)
  expect(run(['h'], 500)).toEqual(['f'])
  expect(run(['h'], 1_000)).toEqual(['f', 'h'])
  expect(run(['h', 'f'], 2_900)).toEqual(['h'])
  // Another gap restarts the wait.
  expect(run(['h'], 1_000)).toEqual(['h'])
  expect(run(['h', 'f'], 2_900)).toEqual(['h'])
  expect(run(['h', 'f'], 500)).toEqual(['h', 'f'])
  expect(run(['f'], 2_000)).toEqual(['f'])
})

test('keeps its layer during an outage of the connection', () => {
  const run = simulcast()
  run(['h', 'f'], 1_000)
  run([], 5_000)
  expect(run(['h', 'f'], 1_000)).toEqual(['f'])
})
