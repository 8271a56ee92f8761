import type { NodeEntry } from './ports.ts'

/**
 * Assigns actors to nodes by rendezvous hashing over their addresses, so that a node that joins or leaves moves only its
 * own share. Impaired nodes are used only if there are no others.
 */
export function placeOf(actor: string, nodes: readonly NodeEntry[]): NodeEntry | undefined {
  return best(actor, nodes, 'active') ?? best(actor, nodes, 'impaired')
}

function best(actor: string, nodes: readonly NodeEntry[], state: NodeEntry['state']): NodeEntry | undefined {
  let chosen: NodeEntry | undefined
  let highest = -1
  for (const node of nodes) {
    if (node.state !== state) continue
    const weight = hash(`${node.address}\n${actor}`)
    if (weight > highest) {
      highest = weight
      chosen = node
    }
  }
  return chosen
}

/** FNV-1a with the finisher of MurmurHash3: distributes similar texts over 32 bits. */
function hash(text: string): number {
  let h = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1) h = Math.imul(h ^ text.charCodeAt(index), 0x01000193)
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}
