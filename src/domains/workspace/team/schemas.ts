import { pageFields } from '../../../core/page.ts'
import {
  Id,
  Input,
  named,
  Nullable,
  OneOf,
  ResourceBase,
  States,
  Text,
  Timestamp,
  Type,
  type Static,
} from '../../../core/schema.ts'
import { ALL_SCOPES, BUILT_IN_ROLES, type BuiltInRole, type Scope } from '../../../core/scope.ts'
import { EmailInput, PICTURE_URL } from '../../identity/users/index.ts'
import { PresenceState } from '../../../core/presence-state.ts'

const BUILT_IN = Object.keys(BUILT_IN_ROLES) as [BuiltInRole, ...BuiltInRole[]]
const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'

const ScopeName = OneOf(ALL_SCOPES as [Scope, ...Scope[]])
const ScopeList = (description: string) =>
  Type.Array(ScopeName, { maxItems: ALL_SCOPES.length, uniqueItems: true, description })

/** A built-in role by its name, one of the workspace's own by its id. */
const RoleId = Type.String({
  pattern: `^(${BUILT_IN.join('|')}|${UUID})$`,
  maxLength: 36,
  description: 'the `_id` of a role: a built-in role’s is its name',
})
const RoleName = Text(1, 60, {
  description: 'Name of a role: owner, admin, editor, contributor, client, or one of the workspace’s own',
})
const Message = Text(1, 1_000, { description: 'A few words to the person, sent with the mail' })

export const TeamPath = Input({ workspaceId: Id })
export const MemberPath = Input({ workspaceId: Id, userId: Id })
export const KnownStreams = Type.Array(Id, {
  description:
    'Streams whose ingest keys still work and could be seen by the member, the newest 100 first; arm those whose keys nobody else should have',
})
export const RemovedMember = Type.Object({ streamIds: KnownStreams })
export const RolePath = Input({ workspaceId: Id, id: RoleId })
export const ItemPath = Input({ workspaceId: Id, id: Id })
export const TokenPath = Input({
  token: Type.String({ minLength: 1, maxLength: 100, description: 'The token of the invitation’s link' }),
})

export const ScopeCatalogue = named(
  'ScopeCatalogue',
  Type.Object({
    scopes: Type.Array(Type.Object({ scope: ScopeName, description: Type.String() })),
    roles: Type.Array(Type.Object({ _id: OneOf(BUILT_IN), name: OneOf(BUILT_IN), scopes: Type.Array(ScopeName) })),
  }),
)

const member = {
  ...ResourceBase,
  _id: Type.String({ ...Id, description: 'The user’s id' }),
  workspaceId: Id,
  name: Type.String({ description: 'Name of the person; empty when they gave none' }),
  email: Type.String({ description: 'Address of the person' }),
  pictureUrl: Nullable(Type.String({ description: PICTURE_URL })),
  role: Type.String({ description: 'Name of the role' }),
  roleId: Type.String({ description: 'Its `_id`: a built-in role’s is its name' }),
  scopes: Type.Array(ScopeName, { description: 'What the member may do: role and groups, with the overrides' }),
  overrides: Type.Object(
    { granted: Type.Array(Type.String()), revoked: Type.Array(Type.String()) },
    { description: 'What the member has beyond, and short of, role and groups' },
  ),
  groups: Type.Array(Type.Object({ _id: Id, name: Type.String() }), { description: 'The groups that they are in' }),
  createdAt: Type.String({ ...Timestamp, description: 'When they joined' }),
  version: Type.Integer({ description: 'Grows with every change of role or overrides; for If-Match' }),
}

export const MemberState = named('MemberState', Type.Object(member))
export type MemberData = Static<typeof MemberState>

export const MemberView = named(
  'Member',
  Type.Object({
    ...member,
    presence: PresenceState,
    lastSeenAt: Nullable(
      Type.String({ ...Timestamp, description: 'When they last had a socket open; null while they have one' }),
    ),
  }),
)

export const MemberQuery = Input({
  ...pageFields,
  q: Type.Optional(Text(1, 100, { description: 'Part of a name or address' })),
  roleId: Type.Optional(RoleId),
})

const Scopes = ScopeList(
  'Exactly what the person may do. What differs from role and groups is kept as personal overrides, granted or revoked. An owner has all scopes',
)

export const MemberChange = Input(
  {
    role: Type.Optional(RoleName),
    roleId: Type.Optional(RoleId),
    scopes: Type.Optional(Nullable(Scopes)),
  },
  { minProperties: 1 },
)

export const NewInvitation = Input({
  email: EmailInput,
  role: Type.Optional(RoleName),
  roleId: Type.Optional(RoleId),
  scopes: Type.Optional(Scopes),
  message: Type.Optional(Message),
})

export const InvitationStatus = States('InvitationStatus', 'What became of an invitation', {
  open: 'Can be accepted or declined until `expiresAt`',
  expired: 'Nobody answered in time. Send it again to open it again',
  accepted: 'The person is a member',
  declined: 'The person does not want to join',
  revoked: 'Was withdrawn by the workspace',
})
export type InvitationStatus = Static<typeof InvitationStatus>

export const InvitationView = named(
  'Invitation',
  Type.Object({
    ...ResourceBase,
    workspaceId: Id,
    email: Type.String(),
    role: Nullable(Type.String({ description: 'Null when the role was deleted after the invitation was closed' })),
    roleId: Nullable(Type.String()),
    scopes: Type.Array(ScopeName, { description: 'What the person will be able to do' }),
    message: Nullable(Type.String()),
    status: InvitationStatus,
    inviter: Nullable(Type.Object({ _id: Id, name: Type.String(), email: Type.String() })),
    sentAt: Timestamp,
    expiresAt: Timestamp,
  }),
)
export type InvitationData = Static<typeof InvitationView>

export const InvitationQuery = Input({
  ...pageFields,
  status: Type.Optional(
    Type.Unsafe<InvitationStatus>({ ...InvitationStatus, description: 'Open and expired ones when absent' }),
  ),
})

/** All that a stranger who has the link may know. */
export const InvitationPreview = named(
  'InvitationPreview',
  Type.Object({
    workspaceName: Type.String(),
    inviterName: Nullable(Type.String({ description: 'The inviter’s name, or their address if they have no name' })),
    role: Type.String(),
    expiresAt: Timestamp,
  }),
)

export const MyInvitation = named(
  'MyInvitation',
  Type.Object({
    ...ResourceBase,
    _id: Type.String({ ...Id, description: 'Accepts and declines in place of the token' }),
    workspaceId: Id,
    workspaceName: Type.String(),
    inviterName: Nullable(Type.String()),
    role: Type.String(),
    message: Nullable(Type.String()),
    expiresAt: Timestamp,
  }),
)

export const RoleView = named(
  'Role',
  Type.Object({
    ...ResourceBase,
    _id: Type.String({ description: 'A built-in role’s id is its name' }),
    name: Type.String({ description: 'Name of the role, unique in the workspace' }),
    builtIn: Type.Boolean({ description: 'The same in every workspace; cannot be changed' }),
    scopes: Type.Array(ScopeName, { description: 'What the role allows' }),
    memberCount: Type.Integer({ description: 'How many members have it' }),
    version: Type.Integer({ description: 'Grows with every change; for If-Match' }),
  }),
)
export type RoleData = Static<typeof RoleView>

const RoleScopes = ScopeList('What the role allows')

export const NewRole = Input({ name: Text(1, 60), scopes: RoleScopes })
export const RoleChange = Input(
  { name: Type.Optional(Text(1, 60)), scopes: Type.Optional(RoleScopes) },
  { minProperties: 1 },
)
export const RoleReplacement = Input({ replaceWith: Type.Optional(RoleId) })

export const GroupView = named(
  'Group',
  Type.Object({
    ...ResourceBase,
    workspaceId: Id,
    name: Type.String({ description: 'Name of the group' }),
    scopes: Type.Array(ScopeName, { description: 'What its members may do beyond their roles' }),
    memberIds: Type.Array(Id, { description: 'Users who are in it' }),
    version: Type.Integer({ description: 'Grows with every change; for If-Match' }),
  }),
)
export type GroupData = Static<typeof GroupView>

const GroupScopes = ScopeList('What members of the group may do beyond their roles')
const MemberIds = Type.Array(Id, {
  maxItems: 500,
  uniqueItems: true,
  description: 'Users who are members of the workspace',
})

export const NewGroup = Input({
  name: Text(1, 60),
  memberIds: MemberIds,
  scopes: Type.Optional(GroupScopes),
})
export const GroupChange = Input(
  {
    name: Type.Optional(Text(1, 60)),
    memberIds: Type.Optional(MemberIds),
    scopes: Type.Optional(GroupScopes),
  },
  { minProperties: 1 },
)
