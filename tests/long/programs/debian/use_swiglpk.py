# packages: python3-swiglpk
import swiglpk as glpk

problem = glpk.glp_create_prob()
glpk.glp_set_obj_dir(problem, glpk.GLP_MAX)
glpk.glp_add_rows(problem, 1)
glpk.glp_set_row_bnds(problem, 1, glpk.GLP_UP, 0, 4)
glpk.glp_add_cols(problem, 2)
rows, columns, values = glpk.intArray(3), glpk.intArray(3), glpk.doubleArray(3)
for i in (1, 2):
    glpk.glp_set_col_bnds(problem, i, glpk.GLP_DB, 0, 3)
    glpk.glp_set_obj_coef(problem, i, i)
    rows[i], columns[i], values[i] = 1, i, 1.0
glpk.glp_load_matrix(problem, 2, rows, columns, values)
glpk.glp_term_out(glpk.GLP_OFF)
assert glpk.glp_simplex(problem, None) == 0 and glpk.glp_get_obj_val(problem) == 7.0
glpk.glp_delete_prob(problem)
