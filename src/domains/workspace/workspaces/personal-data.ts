import type { PersonalData } from '../../../core/personal-data.ts'

/** What the domain holds on persons. */
export const personal = {
  'workspaces.owner_id': {
    about: 'Workspaces that count against your plan',
    export: { file: 'owned-workspaces' },
    deletion: { kept: 'They are deleted with your account, or pass to another owner.' },
  },
  'workspace_members.user_id': {
    about: 'Your memberships of workspaces',
    export: { file: 'memberships', key: ['workspace_id'] },
    deletion: 'deleted',
  },
  'group_members.user_id': {
    about: 'Your memberships of groups',
    export: { file: 'groups', key: ['group_id'] },
    deletion: 'deleted',
  },
} satisfies PersonalData
