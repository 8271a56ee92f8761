import type { World } from './world.ts'

/** The most time by which a command may settle after its deadline, on the clock of its node. */
const SLACK_MS = 150

/** Checks the invariants that hold in every run. @returns the violations */
export function violationsOf(world: World): string[] {
  const found = [...world.store.violations]
  const present = new Map<string, number>()
  for (const [actor, row] of world.store.rows) {
    let epoch = 0
    row.log.forEach((entry, index) => {
      if (entry.seq !== index + 1) found.push(`${actor}: seq ${entry.seq} is at position ${index + 1}`)
      if (entry.epoch < epoch) found.push(`${actor}: seq ${entry.seq} has epoch ${entry.epoch}, after ${epoch}`)
      epoch = Math.max(epoch, entry.epoch)
      if (present.has(entry.op)) found.push(`${entry.op} was executed twice`)
      present.set(entry.op, entry.seq)
    })
  }
  for (const operation of world.operations) {
    const { id, result, value, kind, process, deadline, settledAt } = operation
    const seq = present.get(id)
    if (result === undefined) {
      if (!process.crashed) found.push(`${id} never settled`)
      continue
    }
    if (result === 'acknowledged' && (seq === undefined || seq !== value)) {
      found.push(`${id} was acknowledged with seq ${String(value)}, but its seq is ${seq ?? 'missing'}`)
    }
    if (result === 'acknowledged' && kind !== 'append') found.push(`${id} should have failed`)
    if (result !== 'acknowledged' && result !== 'unknown' && seq !== undefined) {
      found.push(`${id} was refused as ${result}, but was executed with seq ${seq}`)
    }
    const late = settledAt - deadline
    if (late > SLACK_MS && !world.disturbed.has(process)) found.push(`${id} settled ${late.toFixed(0)} ms late`)
  }
  return found
}
