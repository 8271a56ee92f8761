import { describe, expect, it } from 'vitest'
import { simulate, type Report } from './simulate.ts'
import type { WorldOptions } from './world.ts'

/** Fewer seeds in `npm run test:quick`, for the inner loop. */
const SEEDS = process.env['QUICK'] === undefined ? 2_000 : 200

async function firstViolation(seeds: number, options: WorldOptions): Promise<Report | undefined> {
  for (let seed = 1; seed <= seeds; seed += 1) {
    const report = await simulate(seed, options)
    if (report.violations.length > 0) return report
  }
  return undefined
}

describe('the runtime under simulated faults', () => {
  it(`keeps every invariant over ${SEEDS} seeds`, async () => {
    const failed: string[] = []
    let acknowledged = 0
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const { violations, results } = await simulate(seed)
      acknowledged += results.acknowledged ?? 0
      if (violations.length > 0)
        failed.push(`node actors/simulation/main.ts --trace --seed ${seed}: ${violations.join('; ')}`)
    }
    expect(failed).toEqual([])
    // A simulation without acknowledged commands would prove nothing.
    expect(acknowledged).toBeGreaterThan(SEEDS * 25)
  })

  it.each([true, false])(
    'replaces a paused owner safely when self-fencing is %s',
    async (selfFence) => {
      const report = await firstViolation(150, { selfFence })
      const replay = `node actors/simulation/main.ts --trace --seed ${report?.seed} --self-fence ${selfFence ? 'on' : 'off'}`
      expect(report?.violations ?? [], replay).toEqual([])
    },
    60_000,
  )

  it('runs a seed the same way each time', async () => {
    for (const seed of [7, 42, 1_234]) {
      const [first, second] = [await simulate(seed, { trace: true }), await simulate(seed, { trace: true })]
      expect(second.trace).toEqual(first.trace)
      expect(second.digest).toBe(first.digest)
      expect(second.events).toBe(first.events)
    }
  })
})

describe('the simulator detects', () => {
  it('a database that does not check the epoch', async () => {
    const report = await firstViolation(200, { brokenFence: true })
    expect(report?.violations.join('\n')).toMatch(/after it had been replaced|has epoch \d+, after/)
  })

  it('a database that does not remember outcomes', async () => {
    const report = await firstViolation(300, { brokenMemory: true })
    expect(report?.violations.join('\n')).toMatch(/was executed twice/)
  })

  it('a node that continues after its lease has expired', async () => {
    const report = await firstViolation(200, { brokenSelfFence: true, selfFence: true })
    expect(report?.violations.join('\n')).toMatch(/began a batch of \w+ without a lease/)
  })

  it('a repeated request that is executed twice', async () => {
    const report = await firstViolation(600, { duplicateIdsChange: true, smallLimits: true })
    expect(report?.violations.join('\n')).toMatch(/was refused as \w+, but was executed|was executed twice/)
  })
})
